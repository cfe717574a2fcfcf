// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "op_runner.h"

namespace loomix::ops::testing {
namespace {

Tensor random_tensor(const Shape& shape, DType dtype, unsigned seed, double diagonal = 0) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(static_cast<size_t>(shape.size()));
  for (double& value : values) value = uniform(random);
  if (diagonal > 0) {
    const int64_t n = shape[shape.ndim() - 1];
    for (int64_t i = 0; i < shape.size() / n; ++i) values[static_cast<size_t>(i * n + i % n)] += diagonal;
  }
  return Tensor(shape, dtype, values);
}

struct Call {
  std::string op;
  std::vector<Tensor> inputs;
  TextPairs attrs = {};
};

// Large matrices are split among cores, and batches are.
TEST(Linalg, ResultsDoNotDependOnTheNumberOfCores) {
  constexpr DType f32 = DType::float32, f64 = DType::float64;
  const std::vector<Call> calls = {
      {"_linalg_potrf", {random_tensor({700, 700}, f64, 1, 700)}},
      {"_linalg_potrf", {random_tensor({100, 9, 9}, f32, 2, 9)}},
      {"_linalg_potri", {random_tensor({50, 20, 20}, f64, 3, 20)}},
      {"_linalg_gemm2", {random_tensor({300, 200}, f32, 4), random_tensor({200, 250}, f32, 5)}},
      {"_linalg_gemm2",
       {random_tensor({40, 50, 20}, f64, 6), random_tensor({40, 50, 30}, f64, 7)},
       {{"transpose_a", "1"}}},
      {"_linalg_syrk", {random_tensor({300, 90}, f32, 8)}},
      {"_linalg_trsm", {random_tensor({200, 200}, f64, 9, 200), random_tensor({200, 300}, f64, 10)}},
      {"_linalg_trmm",
       {random_tensor({200, 200}, f32, 11), random_tensor({300, 200}, f32, 12)},
       {{"rightside", "1"}}},
      {"_linalg_inverse", {random_tensor({60, 30, 30}, f64, 13, 30)}},
      {"_linalg_slogdet", {random_tensor({60, 30, 30}, f32, 14, 30)}},
      {"_linalg_gelqf", {random_tensor({40, 20, 30}, f64, 15)}},
      {"_linalg_syevd", {random_tensor({40, 20, 20}, f64, 16)}},
      {"_linalg_svd", {random_tensor({40, 10, 20}, f64, 17)}},
      {"_linalg_pinv",
       {random_tensor({40, 10, 20}, f32, 18), Tensor({40}, f32, std::vector<double>(40, 1e-6))}},
      {"_linalg_solve", {random_tensor({60, 30, 30}, f64, 19, 30), random_tensor({60, 30, 5}, f64, 20)}},
  };
  for (const Call& call : calls) {
    auto alone = call.inputs, shared = call.inputs;
    const auto one = run_op(call.op, alone, call.attrs, {.cores = 1}).out;
    const auto three = run_op(call.op, shared, call.attrs, {.cores = 3}).out;
    for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].bytes, three[i].bytes) << call.op;
  }
}

// A file may hold any operator with any inputs.
TEST(Linalg, PivotsThatAreNoRowsAreRefused) {
  for (const double pivot : {0.0, 3.0, -1.0}) {
    std::vector<Tensor> inputs = {random_tensor({2, 2}, DType::float32, 1),
                                  random_tensor({2, 2}, DType::float32, 2),
                                  Tensor(Shape{2}, DType::int32, {1, pivot})};
    EXPECT_THROW(run_op("_linalg_inverse_of_lu", inputs), ValueError);
  }
}

}  // namespace
}  // namespace loomix::ops::testing
