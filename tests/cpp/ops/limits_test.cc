// SPDX-License-Identifier: Apache-2.0
#include "ops/limits.h"

#include <gtest/gtest.h>

namespace loomix::ops {
namespace {

TEST(Limits, FollowTheCaches) {
  constexpr CacheLimits zen4 = limits_of({32 << 10, 1 << 20, 32 << 20});
  EXPECT_EQ(zen4.streamed_bytes, 6 << 20);
  EXPECT_EQ(zen4.fused_block_bytes, 48 << 10);
  EXPECT_EQ(zen4.kept_weight_bytes, 8 << 20);
  EXPECT_EQ(zen4.panel_depth, 2048);
  EXPECT_EQ(zen4.winograd_sums, 1 << 18);
  constexpr CacheLimits haswell = limits_of({32 << 10, 256 << 10, 8 << 20});
  EXPECT_EQ(haswell.streamed_bytes, 3 << 19);
  EXPECT_EQ(haswell.panel_depth, 512);
  EXPECT_EQ(haswell.winograd_sums, 1 << 16);
}

}  // namespace
}  // namespace loomix::ops
