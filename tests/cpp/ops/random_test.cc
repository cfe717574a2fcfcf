// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.h"
#include "ops/random/philox.h"
#include "tests/cpp/ops/op_runner.h"

namespace loomix::ops::testing {
namespace {

// Known answers published with the paper's reference implementation (Random123, kat_vectors).
TEST(Philox, KnownAnswers) {
  const auto words = [](uint64_t seed, uint64_t low, uint64_t high) {
    const PhiloxBlock block = philox(seed, low, high);
    return std::vector<uint32_t>(block.word, block.word + 4);
  };
  EXPECT_THAT(words(0, 0, 0), ::testing::ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  EXPECT_THAT(words(~0ull, ~0ull, ~0ull),
              ::testing::ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
}

TEST(Philox, WordsDoNotDependOnTheRange) {
  const RandomStream random{7, 5};
  std::vector<uint32_t> whole(50), parts(50);
  philox_words(random, 0, 50, [&](int64_t i, uint32_t word) { whole[static_cast<size_t>(i)] = word; });
  for (int64_t begin : {0, 3, 17}) {
    philox_words(random, begin,
                 begin == 0   ? 3
                 : begin == 3 ? 17
                              : 50,
                 [&](int64_t i, uint32_t word) { parts[static_cast<size_t>(i)] = word; });
  }
  EXPECT_EQ(whole, parts);
  EXPECT_EQ(std::set<uint32_t>(whole.begin(), whole.end()).size(), 50u);
}

struct Moments {
  double mean, variance;
};

Moments moments(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double sum = 0;
  for (double value : values) sum += (value - mean) * (value - mean);
  return {mean, sum / n};
}

struct Case {
  const char* op;
  TextPairs attrs;
  double mean, variance;
};

// 200,000 draws: the mean's standard error is sqrt(variance / n); six of them would be a rare accident.
TEST(Random, MeansAndVariances) {
  const Case cases[] = {
      {"_random_uniform", {{"low", "-1"}, {"high", "3"}}, 1, 16.0 / 12},
      {"_random_normal", {{"loc", "2"}, {"scale", "3"}}, 2, 9},
      {"_random_gamma", {{"alpha", "3"}, {"beta", "2"}}, 6, 12},
      {"_random_gamma", {{"alpha", "0.5"}, {"beta", "1"}}, 0.5, 0.5},
      {"_random_exponential", {{"lam", "4"}}, 0.25, 0.0625},
      {"_random_poisson", {{"lam", "3"}}, 3, 3},
      {"_random_poisson", {{"lam", "50"}}, 50, 50},
      {"_random_negative_binomial", {{"k", "4"}, {"p", "0.4"}}, 6, 15},
      {"_random_generalized_negative_binomial", {{"mu", "2"}, {"alpha", "0.5"}}, 2, 4},
  };
  constexpr double n = 200000;
  for (const Case& c : cases) {
    for (const char* dtype : {"float32", "float64"}) {
      TextPairs attrs = c.attrs;
      attrs.emplace_back("shape", "(200000,)");
      attrs.emplace_back("dtype", dtype);
      const auto got = moments(run_op(c.op, {}, attrs, {.random = {42, 1000}}).out[0].values());
      EXPECT_NEAR(got.mean, c.mean, 6 * std::sqrt(c.variance / n)) << c.op << " " << dtype;
      EXPECT_NEAR(got.variance, c.variance, 0.05 * c.variance) << c.op << " " << dtype;
    }
  }
}

TEST(Random, SameForAnyNumberOfCoresAndOtherForOtherOffsets) {
  const TextPairs attrs = {{"shape", "(100, 101)"}};
  for (const char* op : {"_random_uniform", "_random_normal", "_random_gamma", "_random_poisson"}) {
    const auto one = run_op(op, {}, attrs).out[0].values();
    EXPECT_EQ(one, run_op(op, {}, attrs, {.cores = 4}).out[0].values()) << op;
    EXPECT_NE(one, run_op(op, {}, attrs, {.random = {1, 40000}}).out[0].values()) << op;
    EXPECT_NE(one, run_op(op, {}, attrs, {.random = {2, 0}}).out[0].values()) << op;
  }
}

TEST(Random, UniformStaysInside) {
  const auto values = run_op("_random_uniform", {}, {{"shape", "(100000,)"}}).out[0].values();
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 0);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 1);
}

TEST(Random, RandintCoversItsRange) {
  const auto values = run_op("_random_randint", {}, {{"low", "-2"}, {"high", "3"}, {"shape", "(1000,)"}});
  EXPECT_EQ(values.out[0].dtype, DType::int32);
  const auto all = values.out[0].values();
  EXPECT_EQ(std::set<double>(all.begin(), all.end()), (std::set<double>{-2, -1, 0, 1, 2}));
  EXPECT_THROW(run_op("_random_randint", {}, {{"low", "3"}, {"high", "3"}}), ValueError);
  EXPECT_THROW(run_op("_random_normal", {}, {{"scale", "-1"}}), ValueError);
}

TEST(Random, SampleTakesParametersFromArrays) {
  const auto drawn = run_op("_sample_normal",
                            {Tensor({2}, DType::float32, {-100, 100}), Tensor({2}, DType::float32, {1, 2})},
                            {{"shape", "(3, 1000)"}});
  ASSERT_EQ(drawn.out[0].shape, (Shape{2, 3, 1000}));
  const auto values = drawn.out[0].values();
  EXPECT_NEAR(moments({values.begin(), values.begin() + 3000}).mean, -100, 0.2);
  EXPECT_NEAR(moments({values.begin() + 3000, values.end()}).mean, 100, 0.3);
  EXPECT_THROW(run_op("_sample_poisson", {Tensor({1}, DType::float32, {-1})}), ValueError);
}

TEST(Random, MultinomialFollowsItsProbabilities) {
  const auto drawn = run_op("_sample_multinomial", {Tensor({2, 3}, DType::float32, {0.2, 0.5, 0.3, 0, 1, 0})},
                            {{"shape", "(20000,)"}, {"get_prob", "True"}});
  ASSERT_EQ(drawn.out[0].shape, (Shape{2, 20000}));
  const auto index = drawn.out[0].values(), logs = drawn.out[1].values();
  EXPECT_NEAR(static_cast<double>(std::count(index.begin(), index.begin() + 20000, 1.0)) / 20000, 0.5, 0.02);
  EXPECT_EQ(std::count(index.begin() + 20000, index.end(), 1.0), 20000);
  EXPECT_NEAR(logs[0], std::log(index[0] == 0 ? 0.2 : index[0] == 1 ? 0.5 : 0.3), 1e-6);
}

TEST(Random, ShuffleKeepsRowsWhole) {
  std::vector<double> values(200);
  std::iota(values.begin(), values.end(), 0);
  const auto shuffled = run_op("_shuffle", {Tensor({100, 2}, DType::float32, values)}).out[0].values();
  EXPECT_NE(shuffled, values);
  std::set<double> firsts;
  for (size_t row = 0; row < 100; ++row) {
    EXPECT_EQ(shuffled[2 * row + 1], shuffled[2 * row] + 1);
    firsts.insert(shuffled[2 * row]);
  }
  EXPECT_EQ(firsts.size(), 100u);
}

}  // namespace
}  // namespace loomix::ops::testing
