// SPDX-License-Identifier: Apache-2.0
#include <tuple>

#include <gtest/gtest.h>

#include "eager_grad.h"

// Run with LOOMIX_MAX_CPU_ISA and OPENBLAS_CORETYPE for other processors' kernels (.ci/long processors).
namespace loomix::ops::testing {
namespace {

TEST(Products, DoNotDependOnTheNumberOfCores) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16}) {
    for (const auto& [m, n, k] :
         {std::tuple(150, 300, 600), std::tuple(100, 512, 256), std::tuple(64, 1000, 40)}) {
      for (int form = 0; form < 4; ++form) {
        const bool left = (form & 1) != 0, right = (form & 2) != 0;
        const Tensor a = random_tensor(left ? Shape{k, m} : Shape{m, k}, 1, dtype);
        const Tensor b = random_tensor(right ? Shape{n, k} : Shape{k, n}, 2, dtype);
        const TextPairs attrs = {{"transpose_a", left ? "1" : "0"}, {"transpose_b", right ? "1" : "0"}};
        const auto one = run_op("dot", {a, b}, attrs, {});
        for (const int cores : {2, 3, 8}) {
          RunOptions several;
          several.cores = cores;
          EXPECT_EQ(one.out[0].bytes, run_op("dot", {a, b}, attrs, several).out[0].bytes)
              << one.kernel << ", " << cores << " cores, form " << form;
        }
      }
    }
  }
}

}  // namespace
}  // namespace loomix::ops::testing
