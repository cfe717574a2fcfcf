// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <limits>

#include "eager_grad.h"

namespace loomix::ops::testing {
namespace {

constexpr DType kFloats[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using Function = std::function<double(double)>;

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64: return 1e-12;
    case DType::float32: return 2e-6;
    case DType::float16: return 1e-3;
    default: return 8e-3;
  }
}

void expect_is(const Tensor& got, const Tensor& x, const Function& want, const std::string& what) {
  const auto y = got.values(), at = x.values();
  for (size_t i = 0; i < y.size(); ++i)
    ASSERT_NEAR(y[i], want(at[i]), tolerance(got.dtype) * (1 + std::abs(want(at[i]))))
        << what << " of " << at[i];
}

// The gradient of the data for a head of ones.
std::vector<double> slopes(const std::string& op, const TextPairs& attrs, std::vector<Tensor> inputs,
                           int input = 0) {
  const auto heads = run_op(op, inputs, attrs).out;
  std::vector<Tensor> ones;
  for (const Tensor& head : heads)
    ones.emplace_back(head.shape, head.dtype, std::vector<double>(static_cast<size_t>(head.shape.size()), 1));
  return EagerGrad(op, std::move(inputs), attrs, ones, {input}, {}).grads().at(input).values();
}

struct Case {
  const char* type;
  Function f;
  Function derivative;
};

double gelu(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_slope(double x) {
  return (1 + std::erf(x / std::sqrt(2.0))) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
}
constexpr double kScale = 1.0507009873554805, kAlpha = 1.6732632423543772;

const Case kActivationCases[] = {
    {"relu", [](double x) { return std::max(x, 0.0); }, [](double x) { return x > 0 ? 1.0 : 0.0; }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); },
     [](double x) { return 1 / (2 + std::exp(x) + std::exp(-x)); }},
    {"tanh", [](double x) { return std::tanh(x); }, [](double x) { return 1 / std::cosh(x) / std::cosh(x); }},
    {"softrelu", [](double x) { return std::log1p(std::exp(x)); },
     [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"softsign", [](double x) { return x / (1 + std::abs(x)); },
     [](double x) { return 1 / (1 + std::abs(x)) / (1 + std::abs(x)); }},
};
const Case kLeakyCases[] = {
    {"leaky", [](double x) { return x > 0 ? x : 0.25 * x; }, [](double x) { return x > 0 ? 1 : 0.25; }},
    {"elu", [](double x) { return x > 0 ? x : 0.25 * std::expm1(x); },
     [](double x) { return x > 0 ? 1 : 0.25 * std::exp(x); }},
    {"gelu", gelu, gelu_slope},
    {"selu", [](double x) { return kScale * (x > 0 ? x : kAlpha * std::expm1(x)); },
     [](double x) { return kScale * (x > 0 ? 1 : kAlpha * (kScale * std::expm1(x) + 1)); }},
};

TEST(Activation, EveryFunctionInEveryType) {
  for (const Case& c : kActivationCases) {
    const TextPairs attrs = {{"act_type", c.type}};
    for (const DType dtype : kFloats) {
      const Tensor x = random_tensor({37, 19}, 1, dtype, -6, 6);
      expect_is(run_op("Activation", {x}, attrs).out[0], x, c.f, c.type);
      // Slopes are functions of the output, which a half rounds.
      if (dtype != DType::float64 && dtype != DType::float32) continue;
      const auto got = slopes("Activation", attrs, {x});
      expect_is(Tensor(x.shape, dtype, got), x, c.derivative, std::string(c.type) + "'s slope");
    }
    check_gradient("Activation", {random_tensor({9}, 1)}, attrs, {0});
  }
  check_gradient("_backward_softrelu", {random_tensor({9}, 1), random_tensor({9}, 2, DType::float64, 0.1, 2)},
                 {}, {0, 1});
}

TEST(Activation, ResultsDoNotDependOnCores) {
  RunOptions three;
  three.cores = 3;
  for (const DType dtype : kFloats) {
    const Tensor x = random_tensor({3, 50001}, 1, dtype, -4, 4);
    for (const char* type : {"sigmoid", "tanh"}) {
      const TextPairs attrs = {{"act_type", type}};
      EXPECT_EQ(run_op("Activation", {x}, attrs).out[0].bytes,
                run_op("Activation", {x}, attrs, three).out[0].bytes);
    }
    for (const char* type : {"elu", "gelu", "selu"}) {
      const TextPairs attrs = {{"act_type", type}};
      EXPECT_EQ(run_op("LeakyReLU", {x}, attrs).out[0].bytes,
                run_op("LeakyReLU", {x}, attrs, three).out[0].bytes);
      EXPECT_EQ(run_op("_backward_LeakyReLU", {x, x}, attrs).out[0].bytes,
                run_op("_backward_LeakyReLU", {x, x}, attrs, three).out[0].bytes);
    }
    const Tensor gamma = random_tensor({50001}, 2, dtype);
    EXPECT_EQ(run_op("LeakyReLU", {x, gamma}, {{"act_type", "prelu"}}).out[0].bytes,
              run_op("LeakyReLU", {x, gamma}, {{"act_type", "prelu"}}, three).out[0].bytes);
  }
}

TEST(Activation, GradientsAtTheEndsOfTheNumbers) {
  const auto relu =
      slopes("Activation", {{"act_type", "relu"}}, {Tensor({5}, DType::float32, {kNaN, -1, -0.0, 0, 3})});
  EXPECT_TRUE(std::isnan(relu[0]));
  EXPECT_EQ(std::vector(relu.begin() + 1, relu.end()), (std::vector<double>{0, 0, 0, 1}));
  EXPECT_TRUE(std::isnan(slopes("relu", {}, {Tensor({1}, DType::float32, {kNaN})})[0]));
  // As a function of the output, which is 1 there, it would be 0.
  EXPECT_NEAR(
      slopes("Activation", {{"act_type", "softsign"}}, {Tensor({1}, DType::float32, {1e8})})[0] / 1e-16, 1,
      1e-5);
}

TEST(LeakyReLU, EveryFunctionInEveryType) {
  for (const Case& c : kLeakyCases) {
    const TextPairs attrs = {{"act_type", c.type}, {"slope", "0.25"}};
    for (const DType dtype : kFloats) {
      const Tensor x = random_tensor({37, 19}, 1, dtype, -4, 4);
      expect_is(run_op("LeakyReLU", {x}, attrs).out[0], x, c.f, c.type);
      const auto got = slopes("LeakyReLU", attrs, {x});
      expect_is(Tensor(x.shape, dtype, got), x, c.derivative, std::string(c.type) + "'s slope");
    }
    if (std::string(c.type) != "selu") check_gradient("LeakyReLU", {random_tensor({3, 4}, 1)}, attrs, {0});
    check_gradient("_backward_LeakyReLU", {random_tensor({12}, 1), random_tensor({12}, 2)}, attrs, {0, 1});
  }
}

// One slope, one a channel, with and without further axes, over the edges of blocks.
TEST(LeakyReLU, SlopesOfChannels) {
  const TextPairs prelu = {{"act_type", "prelu"}};
  check_gradient("LeakyReLU", {random_tensor({2, 3, 2}, 1), random_tensor({3}, 2)}, prelu, {0, 1});
  check_gradient("LeakyReLU", {random_tensor({2, 3, 2}, 1), random_tensor({1}, 2)}, prelu, {0, 1});
  check_gradient("LeakyReLU", {random_tensor({4, 3}, 1), random_tensor({3}, 2)}, prelu, {0, 1});
  for (const DType dtype : kFloats) {
    for (const Shape& shape : {Shape{3, 300}, Shape{2, 3, 300}, Shape{2, 300, 5}, Shape{700}}) {
      const int64_t channels = shape.ndim() > 1 ? shape[1] : 1;
      const int64_t inner = shape.ndim() > 1 ? shape.size_between(2, shape.ndim()) : 1;
      const Tensor x = random_tensor(shape, 1, dtype), gamma = random_tensor({channels}, 2, dtype);
      const Tensor grad = random_tensor(shape, 3, dtype);
      const auto y = run_op("LeakyReLU", {x, gamma}, prelu).out[0].values();
      const auto back = run_op("_backward_LeakyReLU", {grad, x, gamma}, prelu).out[0].values();
      const auto at = x.values(), slope = gamma.values(), g = grad.values();
      for (size_t i = 0; i < y.size(); ++i) {
        const double own = slope[static_cast<size_t>(static_cast<int64_t>(i) / inner % channels)];
        ASSERT_NEAR(y[i], at[i] > 0 ? at[i] : own * at[i], tolerance(dtype)) << i;
        ASSERT_NEAR(back[i], g[i] * (at[i] > 0 ? 1 : own), tolerance(dtype)) << i;
      }
      const auto sums = run_op("_backward_LeakyReLU_gamma", {grad, x, gamma}, prelu).out[0].values();
      std::vector<double> want(static_cast<size_t>(channels));
      for (size_t i = 0; i < y.size(); ++i)
        want[static_cast<size_t>(static_cast<int64_t>(i) / inner % channels)] += at[i] > 0 ? 0 : at[i] * g[i];
      for (size_t c = 0; c < want.size(); ++c)
        ASSERT_NEAR(sums[c], want[c], tolerance(dtype) * (1 + std::abs(want[c]))) << c;
    }
  }
}

TEST(LeakyReLU, NanStaysNan) {
  const Tensor x({3}, DType::float32, {kNaN, 0, -0.0});
  for (const char* type : {"leaky", "elu", "gelu", "selu"}) {
    const TextPairs attrs = {{"act_type", type}};
    EXPECT_TRUE(std::isnan(run_op("LeakyReLU", {x}, attrs).out[0].values()[0])) << type;
    // The slope of leaky is a number everywhere; zero counts as negative.
    const auto slope = slopes("LeakyReLU", attrs, {x});
    EXPECT_EQ(std::isnan(slope[0]), std::string(type) != "leaky") << type;
    EXPECT_EQ(slope[1], slope[2]) << type;
  }
  EXPECT_EQ(slopes("LeakyReLU", {{"act_type", "leaky"}}, {x})[1], 0.25);
  EXPECT_TRUE(std::isnan(
      slopes("LeakyReLU", {{"act_type", "prelu"}}, {x, Tensor({1}, DType::float32, {0.5})}, 1)[0]));
}

TEST(Clip, GradientsAtTheBorders) {
  const Tensor x({6}, DType::float32, {-2, -1, 0, 1, 2, kNaN});
  EXPECT_EQ(slopes("clip", {{"a_min", "-1"}, {"a_max", "1"}}, {x}), (std::vector<double>{0, 1, 1, 1, 0, 1}));
}

TEST(LeakyReLU, RandomSlopesStayInBounds) {
  RunOptions options;
  options.training = true;
  std::vector<Tensor> inputs = {random_tensor({1000}, 1)};
  const auto out = run_op("LeakyReLU", inputs,
                          {{"act_type", "rrelu"}, {"lower_bound", "0.2"}, {"upper_bound", "0.3"}}, options)
                       .out;
  const auto x = inputs[0].values(), y = out[0].values(), slopes = out[1].values();
  double mean = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_GE(slopes[i], 0.2 - 1e-6);
    EXPECT_LE(slopes[i], 0.3 + 1e-6);
    EXPECT_DOUBLE_EQ(y[i], x[i] > 0 ? x[i] : x[i] * slopes[i]);
    mean += slopes[i] / 1000;
  }
  EXPECT_NEAR(mean, 0.25, 0.005);
}

}  // namespace
}  // namespace loomix::ops::testing
