// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "op_runner.h"
#include "ops/elemwise/binary.h"
#include "ops/elemwise/unary.h"
#include "ops/isa.h"
#include "ops/limits.h"

namespace loomix::ops::testing {
namespace {

constexpr DType kAll[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16,
                          DType::int8,    DType::uint8,   DType::int32,   DType::int64};
constexpr DType kFloats[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64: return 1e-9;
    case DType::float32: return 1e-5;
    case DType::float16: return 2e-3;
    case DType::bfloat16: return 1.6e-2;
    default: return 0;
  }
}

std::vector<double> random_values(int64_t count, double low, double high, DType dtype, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) {
    value = uniform(generator);
    if (!is_floating(dtype)) value = std::round(value);
  }
  return Tensor(Shape{count}, dtype, values).values();  // as the type can hold them
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want, DType dtype,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << " element " << i;
      continue;
    }
    if (std::isinf(want[i]) && got[i] == want[i]) continue;
    ASSERT_NEAR(got[i], want[i], tolerance(dtype) * std::max(1.0, std::abs(want[i])))
        << what << " " << name_of(dtype) << " element " << i;
  }
}

struct UnaryCase {
  const char* name;
  std::function<double(double)> reference;
  double low = -3, high = 3;
};

const UnaryCase kUnaryCases[] = {
    {"abs", [](double x) { return std::abs(x); }},
    {"arccos", [](double x) { return std::acos(x); }, -0.9, 0.9},
    {"arccosh", [](double x) { return std::acosh(x); }, 1.1, 5},
    {"arcsin", [](double x) { return std::asin(x); }, -0.9, 0.9},
    {"arcsinh", [](double x) { return std::asinh(x); }},
    {"arctan", [](double x) { return std::atan(x); }},
    {"arctanh", [](double x) { return std::atanh(x); }, -0.9, 0.9},
    {"cbrt", [](double x) { return std::cbrt(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"cosh", [](double x) { return std::cosh(x); }},
    {"degrees", [](double x) { return x * 180 / M_PI; }},
    {"erf", [](double x) { return std::erf(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"expm1", [](double x) { return std::expm1(x); }},
    {"fix", [](double x) { return std::trunc(x); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"gamma", [](double x) { return std::tgamma(x); }, 0.2, 5},
    {"gammaln", [](double x) { return std::lgamma(x); }, 0.2, 9},
    {"log", [](double x) { return std::log(x); }, 0.1, 9},
    {"log10", [](double x) { return std::log10(x); }, 0.1, 9},
    {"log1p", [](double x) { return std::log1p(x); }, -0.5, 9},
    {"log2", [](double x) { return std::log2(x); }, 0.1, 9},
    {"logical_not", [](double x) { return x == 0; }, -1, 1},
    {"negative", [](double x) { return -x; }},
    {"radians", [](double x) { return x * M_PI / 180; }},
    {"rcbrt", [](double x) { return 1 / std::cbrt(x); }, 0.2, 5},
    {"reciprocal", [](double x) { return 1 / x; }, 0.5, 5},
    {"relu", [](double x) { return std::max(x, 0.0); }},
    {"rint", [](double x) { return std::ceil(x - 0.5); }},
    {"round", [](double x) { return std::round(x); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.2, 5},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"sign", [](double x) { return double(x > 0) - double(x < 0); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"softsign", [](double x) { return x / (1 + std::abs(x)); }},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0, 9},
    {"square", [](double x) { return x * x; }},
    {"tan", [](double x) { return std::tan(x); }, -1, 1},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"trunc", [](double x) { return std::trunc(x); }},
    {"_softrelu", [](double x) { return std::log1p(std::exp(x)); }},
};

TEST(Unary, MatchesTheReferenceInEveryType) {
  for (const UnaryCase& c : kUnaryCases) {
    for (const DType dtype : kAll) {
      const double low = dtype == DType::uint8 ? std::max(c.low, 0.0) : c.low;
      if (!is_floating(dtype) && (c.high - c.low < 2.5 || c.low == 0.5))
        continue;  // hardly an integer to try
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{3, 5, 1}, Shape{263}}) {
        auto x = random_values(shape.size(), low, c.high, dtype, 7);
        for (double& value : x) {
          if (!is_floating(dtype) && !(std::abs(c.reference(value)) < 128))
            value = 1;  // out of the type's range
        }
        std::vector<double> want;
        for (double value : x) want.push_back(c.reference(value));
        if (!is_floating(dtype)) {
          for (double& value : want) value = std::trunc(value + std::copysign(1e-12, value));
          if (dtype == DType::uint8) {
            for (double& value : want) value = static_cast<uint8_t>(static_cast<int>(value));
          }
        }
        const auto result = run_op(c.name, {Tensor(shape, dtype, x)});
        EXPECT_EQ(result.out[0].dtype, dtype);
        EXPECT_EQ(result.out[0].shape, shape);
        expect_near(result.out[0].values(), want, dtype, c.name);
      }
    }
  }
}

TEST(Unary, LargeArraysOnTwoCoresEqualOne) {
  const int64_t count = 3 * work_limits().loop_elements + 77;
  for (const char* name : {"exp", "tanh", "sigmoid"}) {
    const Tensor x(Shape{count}, DType::float32, random_values(count, -4, 4, DType::float32, 3));
    const auto one = run_op(name, {x});
    RunOptions two;
    two.cores = 2;
    EXPECT_EQ(run_op(name, {x}, {}, two).out[0].bytes, one.out[0].bytes) << name;
  }
}

TEST(Unary, SpecialFunctions) {
  const auto erfinv =
      run_op("erfinv", {Tensor({6}, DType::float64, {0, 0.5, -0.5, 0.999, 1, 2})}).out[0].values();
  EXPECT_EQ(erfinv[0], 0);
  EXPECT_NEAR(erfinv[1], 0.4769362762044699, 1e-14);
  EXPECT_NEAR(erfinv[2], -0.4769362762044699, 1e-14);
  EXPECT_NEAR(erfinv[3], 2.326753765513525, 1e-13);
  EXPECT_TRUE(std::isinf(erfinv[4]));
  EXPECT_TRUE(std::isnan(erfinv[5]));
  const auto gamma = run_op("gamma", {Tensor({4}, DType::float32, {0.0, -0.0, -1, 5})}).out[0].values();
  EXPECT_EQ(gamma[0], INFINITY);
  EXPECT_EQ(gamma[1], -INFINITY);
  EXPECT_TRUE(std::isnan(gamma[2]));
  EXPECT_EQ(gamma[3], 24);
  const auto digamma = run_op("_digamma", {Tensor({3}, DType::float64, {1, 0.25, -1.5})}).out[0].values();
  EXPECT_NEAR(digamma[0], -0.5772156649015329, 1e-14);
  EXPECT_NEAR(digamma[1], -4.2274535333762654, 1e-13);
  EXPECT_NEAR(digamma[2], 0.7031566406452432, 1e-13);
  const auto trigamma = run_op("_trigamma", {Tensor({2}, DType::float64, {1, 0.25})}).out[0].values();
  EXPECT_NEAR(trigamma[0], 1.6449340668482264, 1e-13);
  EXPECT_NEAR(trigamma[1], 17.197329154507110, 1e-12);
}

TEST(Unary, NanAndInfinityKeepTheirMeaning) {
  const double nan = std::nan(""), inf = INFINITY;
  for (const DType dtype : kFloats) {
    const Tensor x({4}, dtype, {nan, inf, -inf, 0});
    expect_near(run_op("exp", {x}).out[0].values(), {nan, inf, 0, 1}, dtype, "exp");
    expect_near(run_op("relu", {x}).out[0].values(), {nan, inf, 0, 0}, dtype, "relu");
    expect_near(run_op("sigmoid", {x}).out[0].values(), {nan, 1, 0, 0.5}, dtype, "sigmoid");
    expect_near(run_op("tanh", {x}).out[0].values(), {nan, 1, -1, 0}, dtype, "tanh");
    expect_near(run_op("sign", {x}).out[0].values(), {nan, 1, -1, 0}, dtype, "sign");
  }
}

struct BinaryCase {
  const char* name;  // of the broadcasting form
  const char* same;  // of the form with equal shapes
  const char* scalar;
  std::function<double(double, double)> reference;
  double low = -5;
};

double truncate_div(double a, double b) { return a / b; }
double python_mod(double a, double b) { return b == 0 ? 0 : a - b * std::floor(a / b); }

const BinaryCase kBinaryCases[] = {
    {"broadcast_add", "elemwise_add", "_plus_scalar", [](double a, double b) { return a + b; }},
    {"broadcast_sub", "elemwise_sub", "_minus_scalar", [](double a, double b) { return a - b; }},
    {"broadcast_mul", "elemwise_mul", "_mul_scalar", [](double a, double b) { return a * b; }},
    {"broadcast_div", "elemwise_div", "_div_scalar", truncate_div, 1},
    {"broadcast_mod", "_mod", "_mod_scalar", python_mod, 1},
    {"broadcast_power", "_power", "_power_scalar", [](double a, double b) { return std::pow(a, b); }, 1},
    {"broadcast_maximum", "_maximum", "_maximum_scalar", [](double a, double b) { return std::max(a, b); }},
    {"broadcast_minimum", "_minimum", "_minimum_scalar", [](double a, double b) { return std::min(a, b); }},
    {"broadcast_hypot", "_hypot", "_hypot_scalar", [](double a, double b) { return std::hypot(a, b); }},
    {"broadcast_equal", "_equal", "_equal_scalar", [](double a, double b) { return a == b; }},
    {"broadcast_not_equal", "_not_equal", "_not_equal_scalar", [](double a, double b) { return a != b; }},
    {"broadcast_greater", "_greater", "_greater_scalar", [](double a, double b) { return a > b; }},
    {"broadcast_greater_equal", "_greater_equal", "_greater_equal_scalar",
     [](double a, double b) { return a >= b; }},
    {"broadcast_lesser", "_lesser", "_lesser_scalar", [](double a, double b) { return a < b; }},
    {"broadcast_lesser_equal", "_lesser_equal", "_lesser_equal_scalar",
     [](double a, double b) { return a <= b; }},
    {"broadcast_logical_and", "_logical_and", "_logical_and_scalar",
     [](double a, double b) { return a && b; }},
    {"broadcast_logical_or", "_logical_or", "_logical_or_scalar", [](double a, double b) { return a || b; }},
    {"broadcast_logical_xor", "_logical_xor", "_logical_xor_scalar",
     [](double a, double b) { return bool(a) != bool(b); }},
};

double held(double value, DType dtype) {
  return is_floating(dtype) ? value : std::trunc(value + std::copysign(1e-9, value));
}

// Element of `values`, of `shape`, that meets output element i of shape `out`.
double broadcast_at(const std::vector<double>& values, const Shape& shape, const Shape& out, int64_t i) {
  int64_t offset = 0, stride = 1;
  for (int axis = out.ndim() - 1; axis >= 0; --axis) {
    const int64_t index = i % out[axis];
    i /= out[axis];
    const int own = axis - (out.ndim() - shape.ndim());
    if (own < 0) continue;
    if (shape[own] != 1) offset += index * stride;
    stride *= shape[own];
  }
  return values[static_cast<size_t>(offset)];
}

TEST(Binary, BroadcastsAsTheReferenceInEveryType) {
  const std::pair<Shape, Shape> shapes[] = {
      {{}, {}},         {{3, 4}, {3, 4}},   {{0, 3}, {1, 3}},       {{5, 1}, {1, 7}},
      {{2, 3, 4}, {4}}, {{4}, {2, 3, 4}},   {{2, 3, 4}, {2, 1, 1}}, {{1, 3, 1, 2}, {4, 1, 5, 1}},
      {{300}, {1}},     {{3, 100}, {3, 1}}, {{40, 3}, {3}},         {{2, 50, 2}, {1, 50, 1}}};
  for (const BinaryCase& c : kBinaryCases) {
    for (const DType dtype : kAll) {
      const double low = dtype == DType::uint8 ? 0 : c.low;
      for (const auto& [left, right] : shapes) {
        const double from = c.low == 1 ? 1 : low;
        const double high = std::string(c.same) == "_power" ? 2.5 : 9;
        const auto a = random_values(left.size(), from, high, dtype, 1);
        const auto b = random_values(right.size(), from, high, dtype, 2);
        const auto result = run_op(c.name, {Tensor(left, dtype, a), Tensor(right, dtype, b)});
        const Shape out = broadcast(left, right, "test");
        ASSERT_EQ(result.out[0].shape, out);
        std::vector<double> want;
        for (int64_t i = 0; i < out.size(); ++i) {
          double value = c.reference(broadcast_at(a, left, out, i), broadcast_at(b, right, out, i));
          value = held(value, dtype);
          if (dtype == DType::uint8) value = static_cast<uint8_t>(static_cast<int64_t>(value));
          want.push_back(value);
        }
        expect_near(result.out[0].values(), want, dtype,
                    std::string(c.name) + left.to_string() + right.to_string());
      }
    }
  }
}

TEST(Binary, EqualShapesAndScalars) {
  for (const BinaryCase& c : kBinaryCases) {
    for (const DType dtype : kAll) {
      const double from = c.low == 1 ? 1 : dtype == DType::uint8 ? 2 : c.low;
      const double high = std::string(c.same) == "_power" ? 2.5 : 9;
      const auto a = random_values(300, from, high, dtype, 1);
      const auto b = random_values(300, from, high, dtype, 2);
      std::vector<double> want, want_scalar;
      const double scalar = is_floating(dtype) ? 1.5 : 2;
      for (size_t i = 0; i < a.size(); ++i) {
        want.push_back(held(c.reference(a[i], b[i]), dtype));
        want_scalar.push_back(held(c.reference(a[i], scalar), dtype));
        if (dtype != DType::uint8) continue;
        for (double* value : {&want.back(), &want_scalar.back()})
          *value = static_cast<uint8_t>(static_cast<int64_t>(*value));
      }
      const Tensor left({300}, dtype, a), right({300}, dtype, b);
      expect_near(run_op(c.same, {left, right}).out[0].values(), want, dtype, c.same);
      expect_near(run_op(c.scalar, {left}, {{"scalar", std::to_string(scalar)}}).out[0].values(), want_scalar,
                  dtype, c.scalar);
    }
  }
}

TEST(Binary, ReversedScalars) {
  const Tensor x({3}, DType::float32, {2, 4, -3});
  const TextPairs five = {{"scalar", "5"}};
  expect_near(run_op("_rminus_scalar", {x}, five).out[0].values(), {3, 1, 8}, DType::float32, "rminus");
  expect_near(run_op("_rdiv_scalar", {x}, five).out[0].values(), {2.5, 1.25, -5. / 3}, DType::float32,
              "rdiv");
  expect_near(run_op("_rmod_scalar", {x}, five).out[0].values(), {1, 1, -1}, DType::float32, "rmod");
  expect_near(run_op("_rpower_scalar", {x}, five).out[0].values(), {25, 625, 0.008}, DType::float32,
              "rpower");
}

TEST(Binary, IntegersWrapAndDivideByZeroWithoutATrap) {
  const Tensor a({4}, DType::int32, {7, -7, 2147483647, -2147483648.});
  const Tensor b({4}, DType::int32, {0, 0, 1, -1});
  expect_near(run_op("elemwise_div", {a, b}).out[0].values(), {0, 0, 2147483647, -2147483648.}, DType::int32,
              "div");
  expect_near(run_op("_mod", {a, b}).out[0].values(), {0, 0, 0, 0}, DType::int32, "mod");
  expect_near(run_op("elemwise_add", {a, b}).out[0].values(), {7, -7, -2147483648., 2147483647}, DType::int32,
              "add");
  // The number is converted to the array's type first.
  expect_near(run_op("_plus_scalar", {a}, {{"scalar", "2.5"}}).out[0].values()[0] == 9
                  ? std::vector<double>{1}
                  : std::vector<double>{0},
              {1}, DType::int32, "plus");
}

TEST(Binary, ShapesThatDoNotBroadcastAreAnError) {
  EXPECT_THROW(run_op("broadcast_add", {Tensor({2, 3}, DType::float32), Tensor({4}, DType::float32)}),
               ShapeError);
  EXPECT_THROW(run_op("elemwise_add", {Tensor({2}, DType::float32), Tensor({3}, DType::float32)}),
               ShapeError);
  EXPECT_THROW(run_op("elemwise_add", {Tensor({2}, DType::float32), Tensor({2}, DType::float64)}), TypeError);
}

TEST(Binary, LargeBroadcastOnTwoCoresEqualsOne) {
  const Tensor a({513, 301}, DType::float32, random_values(513 * 301, -1, 1, DType::float32, 1));
  const Tensor row({301}, DType::float32, random_values(301, -1, 1, DType::float32, 2));
  const Tensor column({513, 1}, DType::float32, random_values(513, -1, 1, DType::float32, 2));
  RunOptions two;
  two.cores = 2;
  for (const Tensor& b : {row, column}) {
    EXPECT_EQ(run_op("broadcast_mul", {a, b}).out[0].bytes,
              run_op("broadcast_mul", {a, b}, {}, two).out[0].bytes);
  }
}

TEST(Integers, FunctionsGiveTheNearestNumberThatATypeHolds) {
  struct Case {
    DType dtype;
    double least, most;
  };
  for (const auto& [dtype, least, most] : {Case{DType::int8, -128, 127}, Case{DType::uint8, 0, 255},
                                           Case{DType::int32, -2147483648., 2147483647}}) {
    const Tensor x({3}, dtype, {0, 1, 100});
    const auto of = [&](const char* name) { return run_op(name, {x}).out[0].values(); };
    EXPECT_EQ(of("exp"), (std::vector<double>{1, 2, most}));
    EXPECT_EQ(of("reciprocal"), (std::vector<double>{most, 1, 0}));
    EXPECT_EQ(of("log"), (std::vector<double>{least, 0, 4}));
    EXPECT_EQ(of("arctanh"), (std::vector<double>{0, most, 0}));  // NaN is 0
    EXPECT_EQ(run_op("broadcast_power", {x, x}).out[0].values(), (std::vector<double>{1, 1, most}));
    const double norm = std::sqrt(100. * 100 + 120 * 120);
    const Tensor sides({2}, dtype, {100, 120});
    EXPECT_EQ(run_op("norm", {sides}).out[0].values()[0], std::min(most, std::floor(norm)));
  }
}

TEST(Cast, ConvertsBetweenAllTypes) {
  const std::vector<double> values = {0, 1, 2, 100, 3};
  for (const DType from : kAll) {
    for (const DType to : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int8,
                           DType::uint8, DType::int32, DType::int64, DType::boolean}) {
      auto want = values;
      if (to == DType::boolean) want = {0, 1, 1, 1, 1};
      const auto result = run_op("Cast", {Tensor({5}, from, values)}, {{"dtype", std::string(name_of(to))}});
      EXPECT_EQ(result.out[0].dtype, to);
      EXPECT_EQ(result.out[0].values(), want) << name_of(from) << " to " << name_of(to);
    }
  }
}

TEST(Cast, OutOfRangeFloatsWrapAndNeverTrap) {
  const Tensor x({6}, DType::float32, {-1, 300, 2.9, -2.9, 1e20, -1e20});
  const auto bytes = run_op("Cast", {x}, {{"dtype", "uint8"}}).out[0].values();
  EXPECT_EQ(bytes[0], 255);
  EXPECT_EQ(bytes[1], 44);
  const auto ints = run_op("Cast", {x}, {{"dtype", "int32"}}).out[0].values();
  EXPECT_EQ(ints, (std::vector<double>{-1, 300, 2, -2, 2147483647, -2147483648.}));
  EXPECT_EQ(
      run_op("Cast", {Tensor({1}, DType::float64, {std::nan("")})}, {{"dtype", "int64"}}).out[0].values()[0],
      0);
}

TEST(Cast, HalvesRoundToNearestEvenInBulkAsOneByOne) {
  const auto values = random_values(1000, -70000, 70000, DType::float32, 11);
  for (const DType half : {DType::float16, DType::bfloat16}) {
    const auto bulk =
        run_op("Cast", {Tensor({1000}, DType::float32, values)}, {{"dtype", std::string(name_of(half))}});
    EXPECT_EQ(bulk.out[0].bytes, Tensor(Shape{1000}, half, values).bytes);
  }
}

TEST(Cast, AmpKeepsIntegers) {
  EXPECT_EQ(run_op("amp_cast", {Tensor({2}, DType::int32)}, {{"dtype", "float16"}}).out[0].dtype,
            DType::int32);
  EXPECT_EQ(run_op("amp_cast", {Tensor({2}, DType::float32)}, {{"dtype", "float16"}}).out[0].dtype,
            DType::float16);
  const auto many = run_op("amp_multicast", {Tensor({2}, DType::float16), Tensor({3}, DType::float32)},
                           {{"num_outputs", "2"}});
  EXPECT_EQ(many.out[0].dtype, DType::float32);
  EXPECT_EQ(many.out[1].shape, Shape{3});
}

TEST(Select, WhereByElementAndByRow) {
  const Tensor x({2, 3}, DType::float32, {1, 2, 3, 4, 5, 6});
  const Tensor y({2, 3}, DType::float32, {-1, -2, -3, -4, -5, -6});
  const Tensor mask({2, 3}, DType::int32, {1, 0, 1, 0, 0, 2});
  EXPECT_EQ(run_op("where", {mask, x, y}).out[0].values(), (std::vector<double>{1, -2, 3, -4, -5, 6}));
  EXPECT_EQ(run_op("where", {Tensor({2}, DType::float32, {0, 1}), x, y}).out[0].values(),
            (std::vector<double>{-1, -2, -3, 4, 5, 6}));
}

TEST(Select, ClipAndFriends) {
  const TextPairs bounds = {{"a_min", "-1"}, {"a_max", "2.5"}};
  EXPECT_EQ(run_op("clip", {Tensor({4}, DType::float32, {-3, 0, 2, 9})}, bounds).out[0].values(),
            (std::vector<double>{-1, 0, 2, 2.5}));
  EXPECT_EQ(run_op("clip", {Tensor({3}, DType::uint8, {0, 2, 200})}, bounds).out[0].values(),
            (std::vector<double>{0, 2, 2}));
  expect_near(run_op("hard_sigmoid", {Tensor({3}, DType::float32, {-9, 1, 9})}).out[0].values(), {0, 0.7, 1},
              DType::float32, "hard_sigmoid");
  expect_near(
      run_op("smooth_l1", {Tensor({2}, DType::float32, {0.5, -3})}, {{"scalar", "1"}}).out[0].values(),
      {0.125, 2.5}, DType::float32, "smooth_l1");
  expect_near(
      run_op("_smooth_l1_slope", {Tensor({2}, DType::float32, {0.5, -3})}, {{"scalar", "1"}}).out[0].values(),
      {0.5, -1}, DType::float32, "slope");
}

TEST(Select, AddNOfManyInEveryType) {
  for (const DType dtype : kAll) {
    const Tensor a({300}, dtype, std::vector<double>(300, 1)), b({300}, dtype, std::vector<double>(300, 2));
    EXPECT_EQ(run_op("add_n", {a, b, b, a}, {{"num_args", "4"}}).out[0].values(),
              std::vector<double>(300, 6));
  }
}

TEST(Loops, IntegersHaveExactOnesWhereFunctorsSaySo) {
  const int square = static_cast<int>(unary_code<fn::Square>), exp = static_cast<int>(unary_code<fn::Exp>);
  EXPECT_NE(isa_base::compiled_loops<UnaryLoops>().i64[square], nullptr);
  EXPECT_EQ(isa_base::compiled_loops<UnaryLoops>().i64[exp], nullptr);
  const int add = static_cast<int>(binary_code<fn::Add>), power = static_cast<int>(binary_code<fn::Power>);
  EXPECT_NE(isa_base::compiled_loops<BinaryLoops>().u8[add].by[0], nullptr);
  EXPECT_EQ(isa_base::compiled_loops<BinaryLoops>().u8[power].by[0], nullptr);
}

TEST(Loops, AFunctorInSeveralLinesHasOneCode) {
  EXPECT_LT(static_cast<size_t>(unary_code<fn::Trunc>), UnaryFunctors::count);
  EXPECT_EQ(run_op("fix", {Tensor({2}, DType::float32, {-1.5, 2.5})}).out[0].values(),
            run_op("trunc", {Tensor({2}, DType::float32, {-1.5, 2.5})}).out[0].values());
}

}  // namespace
}  // namespace loomix::ops::testing
