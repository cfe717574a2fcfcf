// SPDX-License-Identifier: Apache-2.0
#include "base/ref_counted.h"

#include <utility>

#include <gtest/gtest.h>

namespace loomix {
namespace {

struct Counted : RefCounted {
  explicit Counted(int* alive) : alive_(alive) { ++*alive_; }
  ~Counted() override { --*alive_; }
  int* alive_;
};

TEST(RefCounted, DeletesWithTheLastHandle) {
  int alive = 0;
  {
    Ref<Counted> a = make_ref<Counted>(&alive);
    Ref<Counted> b = a;
    EXPECT_FALSE(a->unique());
    a.reset();
    EXPECT_TRUE(b->unique());
    EXPECT_EQ(alive, 1);
    b = make_ref<Counted>(&alive);
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(RefCounted, MovesAndConverts) {
  int alive = 0;
  Ref<Counted> a = make_ref<Counted>(&alive);
  Ref<RefCounted> base = a;
  Ref<Counted> c = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_EQ(base.get(), c.get());
  Counted* raw = c.detach();
  Ref<Counted> again = Ref<Counted>::adopt(raw);
  base.reset();
  EXPECT_TRUE(again->unique());
  again = nullptr;
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace loomix
