// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/push_window.h"

#include <gtest/gtest.h>

namespace loomix::kvstore {
namespace {

using Items = std::vector<int>;

TEST(PushWindow, HoldsWhatIsTooMuchAndGivesTheMostUrgentFirst) {
  PushWindow<int> window(10);
  EXPECT_TRUE(window.enter(1, {"a", 0}, 1, 0, 6));
  EXPECT_FALSE(window.enter(2, {"b", 0}, 1, -5, 6));
  EXPECT_FALSE(window.enter(3, {"c", 0}, 1, -1, 4));
  EXPECT_FALSE(window.enter(4, {"d", 0}, 1, -1, 1)) << "would fit, but others wait";
  EXPECT_EQ(window.leave(1), (Items{3, 4}));
  EXPECT_EQ(window.leave(3), Items{2});
  EXPECT_EQ(window.leave(4), Items{});
  EXPECT_EQ(window.leave(2), Items{});
}

TEST(PushWindow, LetsOneThatIsLargerGoAlone) {
  PushWindow<int> window(10);
  EXPECT_TRUE(window.enter(1, {"a", 0}, 1, 0, 100));
  EXPECT_FALSE(window.enter(2, {"a", 1}, 1, 0, 100));
  EXPECT_EQ(window.leave(1), Items{2});
}

TEST(PushWindow, AnUrgentPushPullsEarlierOnesOfItsShardAlong) {
  PushWindow<int> window(10);
  EXPECT_TRUE(window.enter(1, {"a", 0}, 1, 0, 10));
  EXPECT_FALSE(window.enter(2, {"b", 0}, 1, 3, 10));
  EXPECT_FALSE(window.enter(3, {"c", 0}, 1, -9, 10));
  EXPECT_FALSE(window.enter(4, {"c", 0}, 2, 9, 10));
  EXPECT_EQ(window.leave(1), Items{3});
  EXPECT_EQ(window.leave(3), Items{4});
  EXPECT_EQ(window.leave(4), Items{2});
}

// Servers answer the later push only after the earlier one, which comes from another thread.
TEST(PushWindow, HoldsNoPushThatALaterOneOnItsWayWaitsFor) {
  PushWindow<int> window(10);
  EXPECT_TRUE(window.enter(2, {"a", 0}, 2, 0, 10));
  EXPECT_TRUE(window.enter(1, {"a", 0}, 1, 0, 10));
  EXPECT_FALSE(window.enter(4, {"b", 0}, 2, 0, 10));
  EXPECT_FALSE(window.enter(3, {"b", 0}, 1, 0, 10));
  EXPECT_EQ(window.leave(1), Items{});
  EXPECT_EQ(window.leave(2), Items{3});
  EXPECT_EQ(window.leave(3), Items{4});
}

TEST(PushWindow, ForgetsWhatIsGivenUpWhileItIsHeld) {
  PushWindow<int> window(10);
  EXPECT_TRUE(window.enter(1, {"a", 0}, 1, 0, 10));
  EXPECT_FALSE(window.enter(2, {"b", 0}, 1, 0, 10));
  EXPECT_FALSE(window.enter(3, {"c", 0}, 1, 0, 10));
  EXPECT_EQ(window.leave(2), Items{});
  EXPECT_EQ(window.leave(1), Items{3});
}

}  // namespace
}  // namespace loomix::kvstore
