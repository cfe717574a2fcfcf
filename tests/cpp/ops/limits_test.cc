// SPDX-License-Identifier: Apache-2.0
#include "ops/limits.h"

#include <gtest/gtest.h>

#include "ops/linalg/matrices.h"
#include "ops/linear/fully_connected.h"
#include "ops/linear/gemm_blocks.h"
#include "ops/linear/short_sums.h"

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

// A row of its own for each level; faster instructions never make another core pay earlier.
TEST(Limits, FollowTheLevelOfInstructions) {
  for (const Isa isa : {Isa::base, Isa::v3, Isa::v4}) {
    const WorkLimits limits = limits_of(isa);
    const WorkLimits below = limits_of(isa == Isa::v4 ? Isa::v3 : Isa::base);
    EXPECT_GE(limits.team_flops, below.team_flops);
    EXPECT_GE(limits.loop_steps, below.loop_steps);
    EXPECT_GT(limits.block_flops, limits.team_flops);
    EXPECT_GT(limits.one_core_flops, limits.primitive_flops);
    EXPECT_GT(limits.pointwise_weights, 0);
    EXPECT_GE(limits.matrix_flops, below.matrix_flops);
    EXPECT_GE(limits.loop_elements, below.loop_elements);
    EXPECT_GE(limits.quantized_elements, below.quantized_elements);
    EXPECT_GE(limits.update_elements, below.update_elements);
    EXPECT_GT(limits.bfloat16_block_flops, limits.team_flops);
    EXPECT_GT(limits.packed_pixels, 0);
    EXPECT_GT(limits.unfolded_floats, 0);
    EXPECT_GT(limits.panel_rows, limits.panel_hidden);
  }
  EXPECT_EQ(work_limits().team_flops, limits_of(machine_isa()).team_flops);
}

// The limit decides between one block and several, as the benchmark that derives it needs.
TEST(Limits, SmallProductsAreOneBlock) {
  WorkLimits limits = limits_of(Isa::v3);
  const MatMul square{64, 64, 64};  // 524,288
  EXPECT_EQ(blocks_wanted(CutBy::shape, square, 2, limits), 4);
  EXPECT_EQ(blocks_wanted(CutBy::cores, square, 2, limits), 4);
  limits.team_flops = 600'000;
  EXPECT_EQ(blocks_wanted(CutBy::shape, square, 2, limits), 1);
  EXPECT_EQ(blocks_wanted(CutBy::cores, square, 2, limits), 1);
}

TEST(Limits, PanelsAreForSomeRowsAndManyUnits) {
  WorkLimits limits = limits_of(Isa::v3);
  limits.panel_rows = 100;
  limits.panel_hidden = 10;
  EXPECT_TRUE(static_cast<bool>(panels_pay(100, 4, 10, limits)));
  EXPECT_STREQ(panels_pay(101, 4, 10, limits).refusal, "there are too many rows");
  EXPECT_STREQ(panels_pay(3, 4, 10, limits).refusal, "there are too few rows");
  EXPECT_STREQ(panels_pay(100, 4, 9, limits).refusal, "there are too few hidden units");
}

TEST(Limits, ShortSumsAreForFewTerms) {
  WorkLimits limits = limits_of(Isa::v3);
  limits.short_sum_terms = 10;
  Product product{.shape = {.m = 64, .n = 3, .k = 10, .transpose_a = true}};
  EXPECT_TRUE(static_cast<bool>(short_sums_pay(product, DType::float32, limits)));
  product.shape.k = 11;
  EXPECT_STREQ(short_sums_pay(product, DType::float32, limits).refusal, "its sums have too many terms");
  product.shape.k = 10;
  product.shape.m = 63;
  EXPECT_STREQ(short_sums_pay(product, DType::float32, limits).refusal,
               "packing B does not pay for so few rows");
  EXPECT_EQ(limits_of(Isa::v4).short_sum_terms, 0);
}

TEST(Limits, SmallMatricesShareAThread) {
  WorkLimits limits = limits_of(Isa::v3);
  EXPECT_EQ(matrices_a_thread(1000, limits), 50);
  EXPECT_EQ(matrices_a_thread(1e9, limits), 1);
  EXPECT_EQ(matrices_a_thread(0, limits), 50'000);
  limits.matrix_flops = 2000;
  EXPECT_EQ(matrices_a_thread(1000, limits), 2);
}

}  // namespace
}  // namespace loomix::ops
