// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/blas.h"

namespace loomix::cuda {

Gemm dense_gemm(DType dtype, int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b,
                int64_t batch) {
  return {.dtype = dtype,
          .m = m,
          .n = n,
          .k = k,
          .transpose_a = transpose_a,
          .transpose_b = transpose_b,
          .row_a = transpose_a ? m : k,
          .row_b = transpose_b ? k : n,
          .row_c = n,
          .batch = batch,
          .step_a = m * k,
          .step_b = k * n,
          .step_c = m * n};
}

}  // namespace loomix::cuda
