// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/params.h"

namespace loomix {
namespace {

TEST(ReadValue, FollowsTheRulesOfFields) {
  Shape shape;
  EXPECT_TRUE(read_value("(2, 3)", shape));
  EXPECT_EQ(shape, Shape({2, 3}));
  EXPECT_TRUE(read_value("2", shape));
  EXPECT_EQ(shape, Shape({2}));
  EXPECT_FALSE(read_value("2.5", shape));
  int number = 0;
  EXPECT_TRUE(read_value(" 5 ", number));
  EXPECT_EQ(number, 5);
  EXPECT_FALSE(read_value("5.0", number));
  bool flag = false;
  EXPECT_TRUE(read_value("True", flag));
  EXPECT_TRUE(flag);
}

}  // namespace
}  // namespace loomix
