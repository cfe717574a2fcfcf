// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"

// Products of matrices by cuBLAS (blas_cublas.cc), or by the stand-in. Nothing here waits for the device.
namespace loomix::cuda {

// For each item of the batch: C = alpha op(A) op(B) + beta C. All row-major: op(A) is (m, k), op(B) is (k, n). A row follows
// the one before after `row_*` elements, an item after `step_*`. C is not read where beta is zero. Halves are summed in float.
struct Gemm {
  DType dtype = DType::float32;
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  int64_t row_a = 0, row_b = 0, row_c = 0;
  int64_t batch = 1;
  int64_t step_a = 0, step_b = 0, step_c = 0;
  double alpha = 1, beta = 0;
  bool tf32 = false;  // whether factors of type float32 may lose mantissa bits (10 are left)
};
void gemm(const Gemm& product, const void* a, const void* b, void* c, cudaStream_t stream);

// Dense matrices, one after the other.
Gemm dense_gemm(DType dtype, int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b,
                int64_t batch = 1);

// op(A) X = alpha B, or X op(A) = alpha B where A stands on the right: X takes B's place. Row-major and dense, A is a
// triangle; what is on its other side is not read. float32 and float64.
struct TriangularSolve {
  DType dtype = DType::float32;
  int64_t rows = 0, columns = 0;  // of B
  int64_t batch = 1;
  bool rightside = false, lower = true, transpose = false;
  double alpha = 1;
};
void solve(const TriangularSolve& how, const void* a, void* b, cudaStream_t stream);

}  // namespace loomix::cuda
