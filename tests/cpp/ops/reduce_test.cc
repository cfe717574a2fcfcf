// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "op_runner.h"

namespace loomix::ops::testing {
namespace {

constexpr DType kAll[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16,
                          DType::int8,    DType::uint8,   DType::int32,   DType::int64};

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64: return 1e-12;
    case DType::float32: return 1e-6;
    case DType::float16: return 1e-3;
    case DType::bfloat16: return 8e-3;
    default: return 0;
  }
}

std::vector<double> random_values(int64_t count, DType dtype, double high = 2) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> uniform(dtype == DType::uint8 ? 0 : -high, high);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values)
    value = is_floating(dtype) ? uniform(generator) : std::round(uniform(generator));
  return Tensor(Shape{count}, dtype, values).values();
}

struct ReduceCase {
  const char* name;
  double init;
  std::function<double(double, double)> fold;
  std::function<double(double, double)> finish = [](double total, double) { return total; };
};

const ReduceCase kCases[] = {
    {"sum", 0, [](double acc, double x) { return acc + x; }},
    {"mean", 0, [](double acc, double x) { return acc + x; },
     [](double total, double n) { return total / n; }},
    {"prod", 1, [](double acc, double x) { return acc * x; }},
    {"nansum", 0, [](double acc, double x) { return acc + x; }},
    {"nanprod", 1, [](double acc, double x) { return acc * x; }},
    {"max", -INFINITY, [](double acc, double x) { return std::max(acc, x); }},
    {"min", INFINITY, [](double acc, double x) { return std::min(acc, x); }},
};

// Folds over the axes whose bit is set, one element at a time.
std::vector<double> reference(const ReduceCase& c, const std::vector<double>& x, const Shape& shape,
                              uint32_t axes) {
  int64_t outputs = 1, each = 1;
  for (int axis = 0; axis < shape.ndim(); ++axis) (axes >> axis & 1 ? each : outputs) *= shape[axis];
  std::vector<double> y(static_cast<size_t>(outputs), c.init);
  for (int64_t i = 0; i < shape.size(); ++i) {
    int64_t rest = i, offset = 0, stride = 1;
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      const int64_t index = rest % shape[axis];
      rest /= shape[axis];
      if (axes >> axis & 1) continue;
      offset += index * stride;
      stride *= shape[axis];
    }
    y[static_cast<size_t>(offset)] = c.fold(y[static_cast<size_t>(offset)], x[static_cast<size_t>(i)]);
  }
  for (double& value : y) value = c.finish(value, static_cast<double>(each));
  return y;
}

std::string axis_text(uint32_t axes) {
  std::string text = "(";
  for (int axis = 0; axis < 8; ++axis) {
    if (axes >> axis & 1) text += std::to_string(axis) + ",";
  }
  return text + ")";
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want, DType dtype,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    const double expected = is_floating(dtype) ? want[i] : std::trunc(want[i]);
    ASSERT_NEAR(got[i], expected, tolerance(dtype) * std::max(1.0, std::abs(expected)) * 4)
        << what << " element " << i;
  }
}

TEST(Reduce, EveryAxisSetInEveryType) {
  for (const ReduceCase& c : kCases) {
    for (const DType dtype : kAll) {
      for (const Shape& shape :
           {Shape{5}, Shape{3, 4}, Shape{2, 3, 1, 4}, Shape{3, 1, 5, 2}, Shape{2, 300}, Shape{300, 2}}) {
        const bool product = std::string(c.name).find("prod") != std::string::npos;
        if (product && shape.size() > 100) continue;
        auto x = random_values(shape.size(), dtype, product ? 1.5 : 2);
        if (product && !is_floating(dtype)) {
          for (double& value : x) value = value == 0 ? 1 : std::clamp(value, -1.0, 1.0);
        }
        if (!is_floating(dtype) && shape.size() > 100) {
          for (double& value : x) value = std::clamp(value, 0.0, 0.0) + 1;
          if (size_of(dtype) == 1) continue;
        }
        for (uint32_t axes = 1; axes < 1u << shape.ndim(); ++axes) {
          const std::string what =
              std::string(c.name) + " " + std::string(name_of(dtype)) + shape.to_string() + axis_text(axes);
          const auto result = run_op(c.name, {Tensor(shape, dtype, x)}, {{"axis", axis_text(axes)}});
          expect_near(result.out[0].values(), reference(c, x, shape, axes), dtype, what);
        }
      }
    }
  }
}

TEST(Reduce, ShapesOfTheResult) {
  const Tensor x({2, 3, 4}, DType::float32);
  const auto shape = [&](TextPairs attrs) { return run_op("sum", {x}, attrs).out[0].shape; };
  EXPECT_EQ(shape({}), Shape{1});
  EXPECT_EQ(shape({{"keepdims", "True"}}), (Shape{1, 1, 1}));
  EXPECT_EQ(shape({{"axis", "1"}}), (Shape{2, 4}));
  EXPECT_EQ(shape({{"axis", "-1"}, {"keepdims", "1"}}), (Shape{2, 3, 1}));
  EXPECT_EQ(shape({{"axis", "(0,2)"}}), Shape{3});
  EXPECT_EQ(shape({{"axis", "1"}, {"exclude", "True"}}), Shape{3});
  EXPECT_THROW(shape({{"axis", "3"}}), ValueError);
  EXPECT_THROW(shape({{"axis", "(1,1)"}}), ValueError);
}

TEST(Reduce, LongSumsAreAccurateAndTheSameOnAnyCores) {
  for (const Shape& shape : {Shape{3000000}, Shape{100000, 7}, Shape{1000, 3001}}) {
    const Tensor x(shape, DType::float32, std::vector<double>(static_cast<size_t>(shape.size()), 0.1));
    for (const char* axis : {"None", "0"}) {
      const auto one = run_op("sum", {x}, {{"axis", axis}});
      RunOptions two;
      two.cores = 2;
      EXPECT_EQ(run_op("sum", {x}, {{"axis", axis}}, two).out[0].bytes, one.out[0].bytes);
      const double count = static_cast<double>(std::string(axis) == "0" ? shape[0] : shape.size());
      for (double sum : one.out[0].values()) ASSERT_NEAR(sum / (count * static_cast<double>(0.1f)), 1, 1e-6);
    }
  }
}

TEST(Reduce, RowsOfEveryLengthAndTheSameBitsAlone) {
  const ReduceCase& sum = kCases[0];
  for (const int64_t length : {1, 7, 8, 9, 33, 511, 512, 545, 4100}) {
    const Shape shape{9, length};
    const auto x = random_values(shape.size(), DType::float32);
    const auto all = run_op("sum", {Tensor(shape, DType::float32, x)}, {{"axis", "1"}});
    expect_near(all.out[0].values(), reference(sum, x, shape, 2), DType::float32, shape.to_string());
    const Tensor last({1, length}, DType::float32, {x.end() - length, x.end()});
    EXPECT_EQ(run_op("sum", {last}, {{"axis", "1"}}).out[0].values()[0], all.out[0].values()[8]) << length;
  }
}

TEST(Reduce, Int64IsExactAndNanWins) {
  const Tensor big({2}, DType::int64, {0, 0});
  auto x = big;
  reinterpret_cast<int64_t*>(x.bytes.data())[0] = (int64_t{1} << 60) + 1;
  const auto sum = run_op("sum", {x});
  EXPECT_EQ(*reinterpret_cast<const int64_t*>(sum.out[0].bytes.data()), (int64_t{1} << 60) + 1);
  const double nan = std::nan("");
  const Tensor holes({4}, DType::float32, {1, nan, 3, 2});
  EXPECT_TRUE(std::isnan(run_op("max", {holes}).out[0].values()[0]));
  EXPECT_EQ(run_op("nansum", {holes}).out[0].values()[0], 6);
  EXPECT_EQ(run_op("nanprod", {holes}).out[0].values()[0], 6);
}

TEST(Reduce, OfNothing) {
  EXPECT_EQ(run_op("sum", {Tensor({0, 3}, DType::float32)}, {{"axis", "0"}}).out[0].values(),
            (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(run_op("prod", {Tensor({0, 3}, DType::float32)}, {{"axis", "0"}}).out[0].values(),
            (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(run_op("sum", {Tensor({0, 3}, DType::float32)}, {{"axis", "1"}}).out[0].shape, Shape{0});
  EXPECT_THROW(run_op("argmax", {Tensor({0, 3}, DType::float32)}, {{"axis", "0"}}), ShapeError);
}

struct Moments {
  std::vector<double> mean, variance;
};

Moments moments_reference(const std::vector<double>& x, const Shape& shape, uint32_t axes) {
  const ReduceCase mean{"", 0, [](double acc, double v) { return acc + v; },
                        [](double total, double n) { return total / n; }};
  Moments m{reference(mean, x, shape, axes), {}};
  std::vector<double> squares(x.size());
  for (int64_t i = 0; i < shape.size(); ++i) {
    int64_t rest = i, output = 0, stride = 1;
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      if (!(axes >> axis & 1)) {
        output += rest % shape[axis] * stride;
        stride *= shape[axis];
      }
      rest /= shape[axis];
    }
    const double distance = x[static_cast<size_t>(i)] - m.mean[static_cast<size_t>(output)];
    squares[static_cast<size_t>(i)] = distance * distance;
  }
  m.variance = reference(mean, squares, shape, axes);
  return m;
}

TEST(Reduce, MomentsOfEveryAxisSetInEveryType) {
  for (const DType dtype : kAll) {
    for (const Shape& shape : {Shape{7}, Shape{3, 4}, Shape{2, 3, 1, 4}, Shape{2, 300}, Shape{300, 2},
                               Shape{3, 1100}, Shape{5, 3, 1100}}) {
      const auto x = random_values(shape.size(), dtype, 9);
      for (uint32_t axes = 1; axes < 1u << shape.ndim(); ++axes) {
        const std::string what = std::string(name_of(dtype)) + shape.to_string() + axis_text(axes);
        const auto got = run_op("moments", {Tensor(shape, dtype, x)}, {{"axes", axis_text(axes)}});
        const Moments want = moments_reference(x, shape, axes);
        expect_near(got.out[0].values(), want.mean, dtype, "mean " + what);
        expect_near(got.out[1].values(), want.variance, dtype, "variance " + what);
      }
    }
  }
}

// Squares of numbers far from zero have no digits left for the variance; distances from the mean do.
TEST(Reduce, MomentsFarFromZero) {
  for (const auto& [dtype, far] : {std::pair(DType::float32, 1e4), std::pair(DType::float64, 1e8)}) {
    for (const Shape& shape : {Shape{1000000}, Shape{200000, 5}, Shape{5, 200000}, Shape{300, 3, 400}}) {
      std::vector<double> x = random_values(shape.size(), dtype, 1);
      for (double& value : x) value += far;
      const Tensor data(shape, dtype, x);
      x = data.values();
      for (const uint32_t axes : {1u, (1u << shape.ndim()) - 1, 1u << (shape.ndim() - 1)}) {
        RunOptions three;
        three.cores = 3;
        const TextPairs attrs = {{"axes", axis_text(axes)}};
        const auto got = run_op("moments", {data}, attrs);
        const auto by_team = run_op("moments", {data}, attrs, three);
        const Moments want = moments_reference(x, shape, axes);
        for (int i = 0; i < 2; ++i) EXPECT_EQ(got.out[i].bytes, by_team.out[i].bytes);
        const auto mean = got.out[0].values(), variance = got.out[1].values();
        for (size_t i = 0; i < mean.size(); ++i) {
          ASSERT_NEAR(mean[i] / want.mean[i], 1, 1e-7);
          ASSERT_NEAR(variance[i] / want.variance[i], 1, 1e-5) << shape.to_string() << axis_text(axes);
        }
      }
    }
  }
}

// Several rows are folded at a time, in vectors and what is left of them; NaN is never passed over.
TEST(Reduce, ExtremaOfAnyGeometry) {
  for (const Shape& shape : {Shape{1, 7}, Shape{3, 8}, Shape{13, 21}, Shape{700, 9}, Shape{9, 700}}) {
    std::vector<double> x = random_values(shape.size(), DType::float32, 1);
    for (const bool with_nan : {false, true}) {
      if (with_nan) x[x.size() / 2] = std::numeric_limits<double>::quiet_NaN();
      const Tensor data(shape, DType::float32, x);
      const auto rows = static_cast<size_t>(shape[0]), columns = static_cast<size_t>(shape[1]);
      const auto of_columns = run_op("max", {data}, {{"axis", "0"}}).out[0].values();
      const auto of_rows = run_op("min", {data}, {{"axis", "1"}}).out[0].values();
      std::vector<double> most(columns, -1e30), least(rows, 1e30);
      const auto fold = [](double& total, double value, bool is_better) {
        if (is_better || value != value) total = value;
      };
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
          const double value = data.values()[i * columns + j];
          fold(most[j], value, value > most[j]);
          fold(least[i], value, value < least[i]);
        }
      }
      const auto same = [](double a, double b) { return a == b || (a != a && b != b); };
      EXPECT_TRUE(std::ranges::equal(of_columns, most, same)) << shape.to_string();
      EXPECT_TRUE(std::ranges::equal(of_rows, least, same)) << shape.to_string();
    }
  }
}

// Few outputs of very many elements are folded in pieces; everything else needs no memory at all.
TEST(Reduce, ScratchIsBounded) {
  const auto bytes = [](const char* op, const Shape& shape, const char* axes, DType dtype = DType::float32) {
    const TextPairs attrs = {{std::string(op) == "moments" ? "axes" : "axis", axes}};
    return static_cast<int64_t>(run_op(op, {Tensor(shape, dtype)}, attrs).scratch_bytes);
  };
  for (const char* op : {"moments", "sum", "mean", "norm"}) {
    EXPECT_EQ(bytes(op, {1000, 300}, "1"), 0) << op;
    EXPECT_EQ(bytes(op, {100, 1000}, "0"), 0) << op;
    EXPECT_EQ(bytes(op, {1000000, 2}, "1"), 0) << op;
    for (const Shape& shape : {Shape{4000000}, Shape{1000000, 3}, Shape{3, 1000000}, Shape{2000, 2000},
                               Shape{100000, 3, 11}, Shape{2, 400000, 2}}) {
      for (const char* axes : {"None", "0", "-1"})
        EXPECT_LE(bytes(op, shape, axes, DType::int8), shape.size() / 4) << op << shape.to_string() << axes;
    }
  }
  EXPECT_GT(bytes("sum", {4000000}, "0"), 0);
  EXPECT_EQ(run_op("_backward_mean", {Tensor({1000, 1}, DType::float32), Tensor({1000, 300}, DType::float32)},
                   {{"axis", "1"}})
                .scratch_bytes,
            0);
}

// Pieces that end within rows, at rows, and within strips of columns.
TEST(Reduce, PiecesCoverEverything) {
  for (const auto& [shape, axes] :
       {std::pair(Shape{3, 700001}, 0b10u), std::pair(Shape{3, 700001}, 0b11u),
        std::pair(Shape{150001, 3, 2}, 0b101u), std::pair(Shape{7, 2, 50021}, 0b101u),
        std::pair(Shape{300007, 3}, 0b01u), std::pair(Shape{300, 1500}, 0b01u),
        std::pair(Shape{2, 90001, 5}, 0b010u)}) {
    std::vector<double> x(static_cast<size_t>(shape.size()));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 23);
    RunOptions three;
    three.cores = 3;
    const Tensor data(shape, DType::int64, x);
    const auto got = run_op("sum", {data}, {{"axis", axis_text(axes)}}, three);
    EXPECT_EQ(got.out[0].values(), reference(kCases[0], x, shape, axes)) << shape.to_string();
  }
}

TEST(Reduce, HistogramOfIntegers) {
  const auto edges = [](const char* range, const char* bins, DType dtype) {
    return run_op("_histogram", {Tensor({1}, dtype)}, {{"bin_cnt", bins}, {"range", range}}).out[1].values();
  };
  // Whole numbers, though a width times a number of bins falls short of some.
  for (int bins = 1; bins < 200; ++bins) {
    const auto got = edges(fmt::format("(0, {})", bins).c_str(), std::to_string(bins).c_str(), DType::int32);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<double>(i)) << bins;
  }
  for (const DType dtype : {DType::int32, DType::uint8, DType::float32}) {
    const Tensor data({8}, dtype, {0, 3, 3, 5, 6, 9, 10, 11});
    const auto got = run_op("_histogram", {data}, {{"bin_cnt", "3"}, {"range", "(0, 10)"}});
    const auto at = got.out[1].values();
    std::vector<double> want(3);
    for (const double value : data.values()) {
      for (size_t bin = 0; bin < 3; ++bin) {
        if (value >= at[bin] && (value < at[bin + 1] || (bin == 2 && value == at[3]))) ++want[bin];
      }
    }
    EXPECT_EQ(got.out[0].values(), want) << name_of(dtype) << ": counts are those of the edges given back";
  }
}

TEST(Reduce, Norms) {
  const Tensor x({2, 2}, DType::float32, {3, -4, 0, 5});
  EXPECT_EQ(run_op("norm", {x}, {{"axis", "1"}}).out[0].values(), (std::vector<double>{5, 5}));
  EXPECT_EQ(run_op("norm", {x}, {{"ord", "1"}, {"axis", "1"}, {"keepdims", "True"}}).out[0].values(),
            (std::vector<double>{7, 5}));
  const auto wide = run_op("norm", {Tensor({2}, DType::float16, {300, 400})}, {{"out_dtype", "float32"}});
  EXPECT_EQ(wide.out[0].dtype, DType::float32);
  EXPECT_EQ(wide.out[0].values()[0], 500);
}

TEST(Reduce, ArgumentsTakeTheFirstOfEqualElements) {
  const Tensor x({2, 3}, DType::float32, {2, 1, 1, 0, 5, 5});
  EXPECT_EQ(run_op("argmin", {x}, {{"axis", "1"}, {"keepdims", "True"}}).out[0].values(),
            (std::vector<double>{1, 0}));
  EXPECT_EQ(run_op("argmax", {x}, {{"axis", "1"}}).out[0].values(), (std::vector<double>{0, 1}));
  EXPECT_EQ(run_op("argmax", {x}, {{"axis", "0"}}).out[0].values(), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(run_op("argmax", {x}).out[0].values(), std::vector<double>{4});
  EXPECT_EQ(run_op("argmax_channel", {x}).out[0].values(), (std::vector<double>{0, 1}));
  const Tensor planes({1, 2, 3}, DType::float32, {1, 2, 3, 3, 1, 4});
  EXPECT_EQ(run_op("argmax_channel", {planes}).out[0].values(), (std::vector<double>{1, 0, 1}));
}

TEST(Broadcast, CopiesInEveryType) {
  for (const DType dtype : kAll) {
    const Tensor x({2, 1, 3}, dtype, {1, 2, 3, 4, 5, 6});
    const std::vector<double> want = {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6};
    EXPECT_EQ(run_op("broadcast_to", {x}, {{"shape", "(0,2,0)"}}).out[0].values(), want);
    EXPECT_EQ(run_op("broadcast_axis", {x}, {{"axis", "1"}, {"size", "2"}}).out[0].values(), want);
    EXPECT_EQ(run_op("broadcast_like", {x, Tensor({2, 2, 3}, dtype)}).out[0].values(), want);
    EXPECT_EQ(run_op("broadcast_to", {Tensor({1, 1}, dtype, {7})}, {{"shape", "(40,50)"}}).out[0].values(),
              std::vector<double>(2000, 7));
  }
  EXPECT_THROW(run_op("broadcast_to", {Tensor({2}, DType::float32)}, {{"shape", "(3,)"}}), ShapeError);
}

TEST(Broadcast, ReducesBackToTheShape) {
  const Tensor grad({2, 3, 4}, DType::float32, std::vector<double>(24, 1));
  for (const auto& [shape, each] :
       {std::pair<Shape, double>{{3, 1}, 8}, {{1, 1, 1}, 24}, {{4}, 6}, {{2, 3, 4}, 1}, {{2, 1, 4}, 3}}) {
    EXPECT_EQ(run_op("_broadcast_reduce_to_like", {grad, Tensor(shape, DType::float32)}).out[0].values(),
              std::vector<double>(static_cast<size_t>(shape.size()), each));
  }
  EXPECT_EQ(run_op("_backward_mean", {Tensor({2}, DType::float32, {4, 8}), Tensor({2, 2}, DType::float32)},
                   {{"axis", "1"}})
                .out[0]
                .values(),
            (std::vector<double>{2, 2, 4, 4}));
}

}  // namespace
}  // namespace loomix::ops::testing
