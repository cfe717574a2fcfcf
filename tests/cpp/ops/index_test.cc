// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/cpp/ops/op_runner.h"

namespace loomix::ops::testing {
namespace {

using ::testing::ElementsAre;

const std::vector<DType> kTypes = {DType::float32, DType::float64, DType::float16, DType::bfloat16,
                                   DType::int32,   DType::int64,   DType::int8,    DType::uint8};

Tensor matrix(DType dtype = DType::float32) { return Tensor({2, 3}, dtype, {1, 2, 3, 4, 5, 6}); }

TEST(Take, EveryModeAndType) {
  for (DType dtype : kTypes) {
    const Tensor index({4}, DType::float32, {0, 2, -1, 5});
    EXPECT_THAT(run_op("take", {matrix(dtype), index}, {{"axis", "1"}}).out[0].values(),
                ElementsAre(1, 3, 1, 3, 4, 6, 4, 6));
    EXPECT_THAT(run_op("take", {matrix(dtype), index}, {{"axis", "1"}, {"mode", "wrap"}}).out[0].values(),
                ElementsAre(1, 3, 3, 3, 4, 6, 6, 6));
  }
  EXPECT_THROW(run_op("take", {matrix(), Tensor({1}, DType::int32, {2})}, {{"mode", "raise"}}), IndexError);
}

TEST(Take, ScalarAndEmptyIndices) {
  const auto one = run_op("take", {matrix(), Tensor({}, DType::int64, {1})});
  EXPECT_EQ(one.out[0].shape, Shape{3});
  EXPECT_THAT(one.out[0].values(), ElementsAre(4, 5, 6));
  EXPECT_EQ(run_op("take", {matrix(), Tensor({0}, DType::int64)}).out[0].shape, (Shape{0, 3}));
  EXPECT_THROW(run_op("take", {Tensor({0, 3}, DType::float32), Tensor({1}, DType::int64, {0})}), IndexError);
}

TEST(Take, GradientAddsRepeatedIndices) {
  for (int cores : {1, 2}) {
    const auto grad = run_op("_backward_take",
                             {Tensor({3, 3}, DType::float32, {1, 1, 1, 2, 2, 2, 4, 4, 4}),
                              Tensor({3}, DType::float32, {1, 0, 1}), Tensor({2, 3}, DType::float32)},
                             {}, {.cores = cores});
    EXPECT_THAT(grad.out[0].values(), ElementsAre(2, 2, 2, 5, 5, 5));
  }
}

TEST(Embedding, LooksUpAndClips) {
  const TextPairs attrs = {{"input_dim", "2"}, {"output_dim", "3"}};
  EXPECT_THAT(run_op("Embedding", {Tensor({3}, DType::float32, {1, 0, 9}), matrix()}, attrs).out[0].values(),
              ElementsAre(4, 5, 6, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(
      run_op("_backward_Embedding",
             {Tensor({2, 3}, DType::float32, {1, 1, 1, 1, 1, 1}), Tensor({2}, DType::int32, {1, 1})}, attrs)
          .out[0]
          .values(),
      ElementsAre(0, 0, 0, 2, 2, 2));
}

TEST(OneHot, LeavesStrayIndicesOff) {
  const auto hot = run_op("one_hot", {Tensor({3}, DType::float32, {1, 5, -1})},
                          {{"depth", "3"}, {"on_value", "7"}, {"dtype", "int32"}});
  EXPECT_EQ(hot.out[0].dtype, DType::int32);
  EXPECT_THAT(hot.out[0].values(), ElementsAre(0, 7, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Pick, AlongAnyAxisAndBack) {
  const Tensor rows({2}, DType::float32, {2, 0});
  EXPECT_THAT(run_op("pick", {matrix(), rows}).out[0].values(), ElementsAre(3, 4));
  const auto kept = run_op("pick", {matrix(), Tensor({2, 1}, DType::float32, {1, -1})},
                           {{"keepdims", "True"}, {"mode", "wrap"}});
  EXPECT_EQ(kept.out[0].shape, (Shape{2, 1}));
  EXPECT_THAT(kept.out[0].values(), ElementsAre(2, 6));
  EXPECT_THAT(
      run_op("pick", {matrix(), Tensor({3}, DType::int32, {1, 0, 1})}, {{"axis", "0"}}).out[0].values(),
      ElementsAre(4, 2, 6));
  EXPECT_THAT(
      run_op("_backward_pick", {Tensor({2}, DType::float32, {10, 20}), rows, Tensor({2, 3}, DType::float32)})
          .out[0]
          .values(),
      ElementsAre(0, 0, 10, 20, 0, 0));
  EXPECT_THAT(run_op("batch_take", {matrix(), Tensor({2}, DType::int32, {1, 5})}).out[0].values(),
              ElementsAre(2, 6));
}

TEST(GatherScatter, ElementsAndSlices) {
  const Tensor places({2, 2}, DType::float32, {0, 1, 1, 2});
  EXPECT_THAT(run_op("gather_nd", {matrix(), places}).out[0].values(), ElementsAre(2, 6));
  EXPECT_THAT(run_op("gather_nd", {matrix(), Tensor({1, 2}, DType::int32, {1, -2})}).out[0].values(),
              ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THROW(run_op("gather_nd", {matrix(), Tensor({1, 1}, DType::int32, {2})}), IndexError);
  EXPECT_THROW(run_op("gather_nd", {matrix(), Tensor({3, 1}, DType::int32)}), ShapeError);
  EXPECT_THAT(run_op("scatter_nd", {Tensor({2}, DType::float32, {7, 8}), places}, {{"shape", "(2, 3)"}})
                  .out[0]
                  .values(),
              ElementsAre(0, 7, 0, 0, 0, 8));
  EXPECT_THAT(run_op("_scatter_set_nd", {matrix(), Tensor({2}, DType::float32, {7, 8}), places},
                     {{"shape", "(2, 3)"}})
                  .out[0]
                  .values(),
              ElementsAre(1, 7, 3, 4, 5, 8));
  for (const char* op : {"scatter_nd", "_scatter_set_nd"}) {
    const Tensor values({2}, DType::float32, {7, 8});
    auto inputs =
        std::string(op) == "scatter_nd" ? std::vector{values, places} : std::vector{matrix(), values, places};
    EXPECT_THROW(run_op(op, inputs, {{"shape", "(-1, 3)"}}), ValueError) << op;
  }
  EXPECT_THAT(run_op("_backward_gather_nd",
                     {Tensor({2}, DType::float32, {3, 4}), Tensor({2, 2}, DType::float32, {0, 0, 1, 1}),
                      Tensor({2, 3}, DType::float32)})
                  .out[0]
                  .values(),
              ElementsAre(0, 7, 0, 0, 0, 0));
}

TEST(RavelIndex, ThereAndBack) {
  const auto flat =
      run_op("ravel_multi_index", {Tensor({2, 2}, DType::float32, {1, 0, 2, 1})}, {{"shape", "(2, 3)"}});
  EXPECT_THAT(flat.out[0].values(), ElementsAre(5, 1));
  const auto rows = run_op("unravel_index", {Tensor({2}, DType::float32, {5, 1})}, {{"shape", "(2, 3)"}});
  EXPECT_EQ(rows.out[0].shape, (Shape{2, 2}));
  EXPECT_THAT(rows.out[0].values(), ElementsAre(1, 0, 2, 1));
  EXPECT_THROW(run_op("ravel_multi_index", {Tensor({3, 2}, DType::float32)}, {{"shape", "(2, 3)"}}),
               ShapeError);
}

}  // namespace
}  // namespace loomix::ops::testing
