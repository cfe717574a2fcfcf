// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "op_runner.h"

namespace loomix::ops::testing {
namespace {

constexpr DType kAll[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16,
                          DType::int8,    DType::uint8,   DType::int32,   DType::int64};

Tensor counting(Shape shape, DType dtype = DType::float32) {
  std::vector<double> values(static_cast<size_t>(shape.size()));
  std::iota(values.begin(), values.end(), 0);
  return Tensor(std::move(shape), dtype, values);
}

Shape output_shape(const char* op, Shape in, TextPairs attrs) {
  return run_op(op, {Tensor(std::move(in), DType::float32)}, attrs).out[0].shape;
}

TEST(Reshape, Codes) {
  const auto reshape = [](Shape in, const char* shape, const char* reverse = "False") {
    return output_shape("Reshape", std::move(in), {{"shape", shape}, {"reverse", reverse}});
  };
  EXPECT_EQ(reshape({2, 3, 4}, "(0,-1)"), (Shape{2, 12}));
  EXPECT_EQ(reshape({2, 3, 4, 2}, "(-1,3,-2)"), (Shape{2, 3, 4, 2}));
  EXPECT_EQ(reshape({2, 3, 4, 2}, "(-3,-3)"), (Shape{6, 8}));
  EXPECT_EQ(reshape({6, 4}, "(-4,2,-1,-2)"), (Shape{2, 3, 4}));
  EXPECT_EQ(reshape({10, 5, 4}, "(-1,0)", "True"), (Shape{50, 4}));
  EXPECT_EQ(reshape({10, 5, 4}, "(-1,0)"), (Shape{40, 5}));
  EXPECT_EQ(reshape({8, 3, 2, 4}, "(-4,-1,2,-2)"), (Shape{4, 2, 3, 2, 4}));
  EXPECT_EQ(reshape({4, 6}, "(0,-4,2,3)", "True"), (Shape{4, 2, 3}));
  EXPECT_EQ(reshape({0, 3}, "(-1,3)"), (Shape{0, 3}));
  EXPECT_EQ(output_shape("Reshape", {2, 6}, {{"target_shape", "(0,3)"}}), (Shape{4, 3}));
  EXPECT_THROW(reshape({2, 3}, "(5,)"), ShapeError);
  EXPECT_THROW(reshape({2, 3}, "(-1,-1)"), ValueError);
  EXPECT_THROW(reshape({2, 3}, "(4,-1)"), ShapeError);
  EXPECT_THROW(reshape({6}, "(-4,4,-1)"), ShapeError);
}

TEST(Reshape, InfersOneUnknownSizeOfTheInput) {
  const OpTable& table = builtin_table();
  const OpDef& op = table.at("Flatten");
  std::vector<Shape> in = {{kUnknownDim, 3, 4}}, out = {{5, kUnknownDim}};
  ShapeInfer infer(op, in, out);
  op.infer_shape(*table.parse(op, {}), infer);
  EXPECT_EQ(in[0], (Shape{5, 3, 4}));
  EXPECT_EQ(out[0], (Shape{5, 12}));
}

TEST(Reshape, Others) {
  EXPECT_EQ(output_shape("Flatten", {2, 3, 4}, {}), (Shape{2, 12}));
  EXPECT_EQ(output_shape("expand_dims", {2, 3}, {{"axis", "-1"}}), (Shape{2, 3, 1}));
  EXPECT_EQ(output_shape("expand_dims", {2, 3}, {{"axis", "0"}}), (Shape{1, 2, 3}));
  EXPECT_EQ(output_shape("squeeze", {1, 2, 1, 3}, {{"axis", "2"}}), (Shape{1, 2, 3}));
  EXPECT_EQ(output_shape("squeeze", {1, 1}, {}), Shape{1});
  EXPECT_THROW(output_shape("squeeze", {2, 1}, {{"axis", "0"}}), ShapeError);
  EXPECT_EQ(run_op("reshape_like", {counting({2, 6}), counting({3, 4})}).out[0].shape, (Shape{3, 4}));
  EXPECT_EQ(run_op("reshape_like", {counting({30, 7}), counting({15, 2, 4})},
                   {{"lhs_begin", "0"}, {"lhs_end", "1"}, {"rhs_begin", "0"}, {"rhs_end", "2"}})
                .out[0]
                .shape,
            (Shape{15, 2, 7}));
}

TEST(Slice, StepsAndBounds) {
  const Tensor x = counting({4, 6});
  EXPECT_EQ(
      run_op("slice", {x}, {{"begin", "(3,None)"}, {"end", "(None,5)"}, {"step", "(-2,2)"}}).out[0].values(),
      (std::vector<double>{18, 20, 22, 6, 8, 10}));
  EXPECT_EQ(run_op("slice", {x}, {{"begin", "(1,)"}, {"end", "(2,)"}}).out[0].values(),
            (std::vector<double>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(run_op("slice_axis", {counting({2, 5})}, {{"axis", "-1"}, {"begin", "-3"}, {"end", "None"}})
                .out[0]
                .values(),
            (std::vector<double>{2, 3, 4, 7, 8, 9}));
  EXPECT_THROW(run_op("slice_axis", {x}, {{"axis", "0"}, {"begin", "0"}, {"end", "9"}}), ValueError);
  EXPECT_THROW(run_op("slice", {x}, {{"begin", "(0,)"}, {"end", "(2,)"}, {"step", "(0,)"}}), ValueError);
  EXPECT_EQ(run_op("slice_like", {x, Tensor({2, 3}, DType::int32)}, {{"axes", "(1,)"}}).out[0].shape,
            (Shape{4, 3}));
}

TEST(Slice, Assigns) {
  const Tensor x = counting({2, 3});
  const TextPairs region = {{"begin", "(0,0)"}, {"end", "(2,3)"}, {"step", "(1,2)"}};
  EXPECT_EQ(
      run_op("_slice_assign", {x, Tensor({2, 2}, DType::float32, {-1, -2, -3, -4})}, region).out[0].values(),
      (std::vector<double>{-1, 1, -2, -3, 4, -4}));
  TextPairs filled = region;
  filled.emplace_back("scalar", "9");
  EXPECT_EQ(run_op("_slice_assign_scalar", {x}, filled).out[0].values(),
            (std::vector<double>{9, 1, 9, 9, 4, 9}));
}

TEST(Join, ConcatAndSplit) {
  const auto joined = run_op("Concat", {counting({2, 2}), counting({2, 1}), counting({2, 0})},
                             {{"num_args", "3"}, {"dim", "1"}});
  EXPECT_EQ(joined.out[0].values(), (std::vector<double>{0, 1, 0, 2, 3, 1}));
  EXPECT_EQ(
      run_op("stack", {counting({2}), counting({2})}, {{"num_args", "2"}, {"axis", "-1"}}).out[0].values(),
      (std::vector<double>{0, 0, 1, 1}));
  const auto parts =
      run_op("SliceChannel", {counting({2, 3})}, {{"num_outputs", "3"}, {"squeeze_axis", "True"}});
  EXPECT_EQ(parts.out.size(), 3u);
  EXPECT_EQ(parts.out[1].shape, Shape{2});
  EXPECT_EQ(parts.out[1].values(), (std::vector<double>{1, 4}));
  const auto cut = run_op("_split_v2", {counting({5})}, {{"indices", "(0,2)"}, {"axis", "0"}});
  EXPECT_EQ(cut.out[1].values(), (std::vector<double>{2, 3, 4}));
  EXPECT_THROW(run_op("Concat", {counting({2, 2}), counting({3, 1})}, {{"num_args", "2"}}), ShapeError);
  EXPECT_THROW(run_op("SliceChannel", {counting({2, 3})}, {{"num_outputs", "2"}}), ShapeError);
}

TEST(Join, ConcatInfersTheMissingInput) {
  const OpTable& table = builtin_table();
  const OpDef& op = table.at("Concat");
  std::vector<Shape> in = {{2, 3}, Shape::unknown()}, out = {{2, 7}};
  ShapeInfer infer(op, in, out);
  op.infer_shape(*table.parse(op, {{"num_args", "2"}}), infer);
  EXPECT_EQ(in[1], (Shape{2, 4}));
}

std::vector<double> transposed(const std::vector<double>& x, const Shape& shape,
                               const std::vector<int>& axes) {
  Shape out;
  for (int axis : axes) out.push_back(shape[axis]);
  std::vector<double> y;
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t rest = i, offset = 0;
    for (int axis = out.ndim() - 1; axis >= 0; --axis) {
      offset += rest % out[axis] * shape.size_between(axes[static_cast<size_t>(axis)] + 1, shape.ndim());
      rest /= out[axis];
    }
    y.push_back(x[static_cast<size_t>(offset)]);
  }
  return y;
}

TEST(Move, TransposesAllPermutationsInEveryType) {
  for (const Shape& shape : {Shape{2, 3, 5, 4}, Shape{1, 40, 1, 37}, Shape{17, 2, 33, 1}}) {
    std::vector<int> axes = {0, 1, 2, 3};
    do {
      for (const DType dtype : kAll) {
        const Tensor x = size_of(dtype) == 1 ? Tensor(shape, dtype) : counting(shape, dtype);
        std::string text = "(";
        for (int axis : axes) text += std::to_string(axis) + ",";
        EXPECT_EQ(run_op("transpose", {x}, {{"axes", text + ")"}}).out[0].values(),
                  transposed(x.values(), shape, axes));
      }
    } while (std::next_permutation(axes.begin(), axes.end()));
  }
}

TEST(Move, LargeTransposeOnTwoCores) {
  const Tensor x = counting({513, 301});
  RunOptions two;
  two.cores = 2;
  EXPECT_EQ(run_op("transpose", {x}, {}, two).out[0].values(), transposed(x.values(), {513, 301}, {1, 0}));
}

TEST(Move, SmallOnes) {
  EXPECT_EQ(run_op("reverse", {counting({2, 3})}, {{"axis", "1"}}).out[0].values(),
            (std::vector<double>{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(run_op("reverse", {counting({2, 2})}, {{"axis", "(0,1)"}}).out[0].values(),
            (std::vector<double>{3, 2, 1, 0}));
  for (const char* twice : {"(0,0)", "(1,-1)", "(1,0,1,0)"})
    EXPECT_EQ(run_op("reverse", {counting({2, 2})}, {{"axis", twice}}).out[0].values(),
              (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(run_op("reverse", {counting({2, 2})}, {{"axis", "(0,0,-2)"}}).out[0].values(),
            (std::vector<double>{2, 3, 0, 1}));
  EXPECT_EQ(run_op("SwapAxis", {counting({2, 3})}, {{"dim1", "0"}, {"dim2", "1"}}).out[0].values(),
            (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(run_op("tile", {counting({2, 1})}, {{"reps", "(2,1,2)"}}).out[0].values(),
            (std::vector<double>{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(run_op("repeat", {counting({2, 2})}, {{"repeats", "2"}, {"axis", "1"}}).out[0].values(),
            (std::vector<double>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(run_op("repeat", {counting({2})}, {{"repeats", "2"}}).out[0].values(),
            (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(run_op("Pad", {counting({3})}, {{"mode", "reflect"}, {"pad_width", "(2,1)"}}).out[0].values(),
            (std::vector<double>{2, 1, 0, 1, 2, 1}));
  EXPECT_EQ(run_op("Pad", {counting({1, 2})},
                   {{"mode", "constant"}, {"pad_width", "(1,0,0,1)"}, {"constant_value", "7"}})
                .out[0]
                .values(),
            (std::vector<double>{7, 7, 7, 0, 1, 7}));
  EXPECT_THROW(run_op("Pad", {counting({2})}, {{"mode", "reflect"}, {"pad_width", "(2,1)"}}), ValueError);
  EXPECT_EQ(run_op("diag", {counting({3, 4})}, {{"k", "1"}}).out[0].values(),
            (std::vector<double>{1, 6, 11}));
  EXPECT_EQ(run_op("diag", {counting({2})}, {{"k", "-1"}}).out[0].values(),
            (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(run_op("shape_array", {counting({2, 3})}).out[0].values(), (std::vector<double>{2, 3}));
  EXPECT_EQ(run_op("size_array", {counting({2, 3})}).out[0].values(), std::vector<double>{6});
  EXPECT_EQ(run_op("depth_to_space", {counting({1, 4, 1, 2})}, {{"block_size", "2"}}).out[0].values(),
            (std::vector<double>{0, 2, 1, 3, 4, 6, 5, 7}));
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Tensor noise(const Shape& shape, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(static_cast<size_t>(shape.size()));
  for (double& value : values) value = uniform(generator);
  return Tensor(shape, DType::float64, values);
}

// A linear operator A and its backward B satisfy <A x, g> = <x, B g>.
TEST(Move, BackwardIsTheAdjoint) {
  struct Pair {
    const char* forward;
    const char* backward;
    Shape shape;
    TextPairs attrs;
  };
  const Pair pairs[] = {
      {"slice", "_backward_slice", {5, 6}, {{"begin", "(4,1)"}, {"end", "(None,6)"}, {"step", "(-2,2)"}}},
      {"slice_axis", "_backward_slice_axis", {3, 5}, {{"axis", "1"}, {"begin", "1"}, {"end", "4"}}},
      {"tile", "_backward_tile", {2, 3}, {{"reps", "(2,1,3)"}}},
      {"tile", "_backward_tile", {2, 3}, {{"reps", "(2,)"}}},
      {"repeat", "_backward_repeat", {2, 3, 2}, {{"repeats", "3"}, {"axis", "1"}}},
      {"repeat", "_backward_repeat", {2, 3}, {{"repeats", "2"}}},
      {"Pad", "_backward_pad", {3, 4}, {{"mode", "reflect"}, {"pad_width", "(2,1,3,0)"}}},
      {"Pad", "_backward_pad", {3, 4}, {{"mode", "edge"}, {"pad_width", "(2,1,0,5)"}}},
      {"Pad", "_backward_pad", {3, 4}, {{"mode", "constant"}, {"pad_width", "(2,1,0,5)"}}},
      {"Pad", "_backward_pad", {2, 3, 700}, {{"mode", "reflect"}, {"pad_width", "(1,1,0,2,300,699)"}}},
      {"Pad", "_backward_pad", {1, 1, 2}, {{"mode", "edge"}, {"pad_width", "(2,1,1,1,3,3)"}}},
      {"tile", "_backward_tile", {2, 3}, {{"reps", "(100000,1)"}}},
      {"mean", "_backward_mean", {300, 2, 3}, {{"axis", "2"}}},
      {"mean", "_backward_mean", {5, 7, 300}, {{"axis", "1"}}},
      {"mean", "_backward_mean", {600, 3, 2}, {{"axis", "1"}}},
      {"diag", "_backward_diag", {3, 4}, {{"k", "1"}}},
      {"diag", "_backward_diag", {2, 3, 4}, {{"k", "-1"}, {"axis1", "2"}, {"axis2", "0"}}},
      {"diag", "_backward_diag", {3}, {{"k", "2"}}},
      {"sum", "_backward_sum", {2, 3, 4}, {{"axis", "1"}}},
      {"mean", "_backward_mean", {2, 3, 4}, {{"axis", "(0,2)"}}},
      {"sum", "_backward_sum", {2, 3, 4}, {{"axis", "1"}, {"exclude", "True"}}},
  };
  for (const Pair& pair : pairs) {
    const Tensor x = noise(pair.shape, 1);
    const auto y = run_op(pair.forward, {x}, pair.attrs);
    const Tensor g = noise(y.out[0].shape, 2);
    const auto back = run_op(pair.backward, {g, x}, pair.attrs);
    EXPECT_EQ(back.out[0].shape, pair.shape);
    const double want = dot(y.out[0].values(), g.values());
    EXPECT_NEAR(dot(x.values(), back.out[0].values()), want, 1e-12 * std::max(1.0, std::abs(want)))
        << pair.forward;
  }
}

}  // namespace
}  // namespace loomix::ops::testing
