// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/cpp/ops/op_runner.h"

namespace loomix::ops::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;

TEST(Fill, EveryType) {
  for (const char* dtype :
       {"float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"}) {
    const auto ones = run_op("_ones", {}, {{"shape", "(2, 3)"}, {"dtype", dtype}});
    EXPECT_EQ(name_of(ones.out[0].dtype), dtype);
    EXPECT_EQ(ones.out[0].shape, (Shape{2, 3}));
    EXPECT_THAT(ones.out[0].values(), Each(1.0));
    EXPECT_THAT(run_op("_zeros", {}, {{"shape", "(4,)"}, {"dtype", dtype}}).out[0].values(), Each(0.0));
  }
  EXPECT_THAT(run_op("_full", {}, {{"shape", "(2,)"}, {"value", "2.5"}}).out[0].values(),
              ElementsAre(2.5, 2.5));
}

TEST(Arange, CountsAsNumPyDoes) {
  EXPECT_THAT(run_op("_arange", {}, {{"start", "3"}}).out[0].values(), ElementsAre(0, 1, 2));
  EXPECT_THAT(run_op("_arange", {}, {{"start", "1"}, {"stop", "2"}, {"step", "0.5"}, {"repeat", "2"}})
                  .out[0]
                  .values(),
              ElementsAre(1, 1, 1.5, 1.5));
  EXPECT_THAT(run_op("_arange", {}, {{"start", "5"}, {"stop", "2"}, {"step", "-2"}}).out[0].values(),
              ElementsAre(5, 3));
  EXPECT_THROW(run_op("_arange", {}, {{"start", "5"}, {"stop", "3"}}), ValueError);
  EXPECT_THROW(run_op("_arange", {}, {{"start", "5"}, {"step", "0"}}), ValueError);
}

TEST(Linspace, EndIncludedOrNot) {
  EXPECT_THAT(run_op("_linspace", {}, {{"start", "0"}, {"stop", "1"}, {"num", "5"}}).out[0].values(),
              ElementsAre(0, 0.25, 0.5, 0.75, 1));
  EXPECT_THAT(run_op("_linspace", {}, {{"start", "0"}, {"stop", "1"}, {"num", "4"}, {"endpoint", "False"}})
                  .out[0]
                  .values(),
              ElementsAre(0, 0.25, 0.5, 0.75));
  EXPECT_THAT(run_op("_linspace", {}, {{"start", "3"}, {"stop", "9"}, {"num", "1"}}).out[0].values(),
              ElementsAre(3));
}

TEST(Eye, AnyDiagonal) {
  EXPECT_THAT(run_op("_eye", {}, {{"N", "2"}}).out[0].values(), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(run_op("_eye", {}, {{"N", "2"}, {"M", "3"}, {"k", "1"}}).out[0].values(),
              ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(run_op("_eye", {}, {{"N", "2"}, {"k", "-1"}}).out[0].values(), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(run_op("_eye", {}, {{"N", "2"}, {"k", "7"}}).out[0].values(), Each(0.0));
}

TEST(ArangeLike, ShapeOrAxis) {
  const Tensor like({2, 3}, DType::float32);
  EXPECT_THAT(run_op("_contrib_arange_like", {like}, {{"repeat", "2"}}).out[0].values(),
              ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(run_op("_contrib_arange_like", {like}, {{"axis", "-1"}, {"start", "1"}}).out[0].values(),
              ElementsAre(1, 2, 3));
}

TEST(Order, SortArgsortTopk) {
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int8,
                      DType::uint8, DType::int32, DType::int64}) {
    const Tensor data({2, 3}, dtype, {3, 1, 2, 5, 5, 4});
    EXPECT_THAT(run_op("sort", {data}).out[0].values(), ElementsAre(1, 2, 3, 4, 5, 5));
    EXPECT_THAT(run_op("sort", {data}, {{"axis", "None"}, {"is_ascend", "0"}}).out[0].values(),
                ElementsAre(5, 5, 4, 3, 2, 1));
    EXPECT_THAT(run_op("argsort", {data}, {{"is_ascend", "False"}}).out[0].values(),
                ElementsAre(0, 2, 1, 0, 1, 2));
    EXPECT_THAT(run_op("argsort", {data}, {{"axis", "0"}}).out[0].values(), ElementsAre(0, 0, 0, 1, 1, 1));
    EXPECT_THAT(run_op("topk", {data}, {{"k", "2"}}).out[0].values(), ElementsAre(0, 2, 0, 1));
    EXPECT_THAT(run_op("topk", {data}, {{"k", "2"}, {"ret_typ", "mask"}}).out[0].values(),
                ElementsAre(1, 0, 1, 1, 1, 0));
  }
}

TEST(Order, TopkReturnsBothAndGradient) {
  const Tensor data({2, 3}, DType::float32, {3, 1, 2, 5, 5, 4});
  const auto both =
      run_op("topk", {data}, {{"k", "1"}, {"axis", "0"}, {"ret_typ", "both"}, {"dtype", "int32"}});
  EXPECT_EQ(both.out[1].dtype, DType::int32);
  EXPECT_THAT(both.out[0].values(), ElementsAre(5, 5, 4));
  EXPECT_THAT(both.out[1].values(), ElementsAre(1, 1, 1));
  const auto grad = run_op("_backward_order", {Tensor({1, 3}, DType::float32, {7, 8, 9}), both.out[1], data},
                           {{"axis", "0"}});
  EXPECT_THAT(grad.out[0].values(), ElementsAre(0, 0, 0, 7, 8, 9));
  for (const char* type : {"indices", "mask"})
    EXPECT_THROW(run_op("topk", {data}, {{"k", "4"}, {"ret_typ", type}}), ValueError);
  const auto mask = [&](const char* axis, const char* ascend) {
    const TextPairs attrs = {{"k", "1"}, {"axis", axis}, {"ret_typ", "mask"}, {"is_ascend", ascend}};
    return run_op("topk", {data}, attrs).out[0].values();
  };
  EXPECT_THAT(mask("0", "0"), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(mask("0", "1"), ElementsAre(1, 1, 1, 0, 0, 0));
  EXPECT_THAT(mask("-1", "1"), ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(mask("None", "1"), ElementsAre(0, 1, 0, 0, 0, 0));
}

TEST(Order, NanIsLargestAndEmptyIsFine) {
  const Tensor data({4}, DType::float32, {1, NAN, 3, 2});
  EXPECT_THAT(run_op("argsort", {data}).out[0].values(), ElementsAre(0, 3, 2, 1));
  EXPECT_THAT(run_op("topk", {data}, {{"k", "2"}}).out[0].values(), ElementsAre(1, 2));
  EXPECT_EQ(run_op("sort", {Tensor({0, 3}, DType::float32)}).out[0].shape, (Shape{0, 3}));
}

}  // namespace
}  // namespace loomix::ops::testing
