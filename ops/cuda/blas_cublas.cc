// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/cuda/blas.h"
#include "ops/cuda/blas_handle_cublas.h"
#include "ops/cuda/byte_products.h"
#include "ops/cuda/handles.h"

namespace loomix::cuda {

// cuBLAS is column-major, where a row-major C is its own transpose: C^T = op(B)^T op(A)^T.
void gemm(const Gemm& p, const void* a, const void* b, void* c, cudaStream_t stream) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  const bool wide = p.dtype == DType::float64;
  const float alpha = static_cast<float>(p.alpha), beta = static_cast<float>(p.beta);
  const void* const factor = wide ? static_cast<const void*>(&p.alpha) : &alpha;
  const void* const kept = wide ? static_cast<const void*>(&p.beta) : &beta;
  const cublasComputeType_t compute = arithmetic_of(p);
  const cudaDataType_t type = type_of(p.dtype);
  // Distances of rows must not be shorter than rows, even where there is nothing.
  const int64_t row_a = std::max<int64_t>({1, p.row_a, p.transpose_a ? p.m : p.k});
  const int64_t row_b = std::max<int64_t>({1, p.row_b, p.transpose_b ? p.k : p.n});
  const int64_t row_c = std::max(p.row_c, p.n);
  handles<BlasHandle>().with(stream, [&](const BlasHandle& blas) {
    const auto op_a = operation(p.transpose_a), op_b = operation(p.transpose_b);
    if (p.batch == 1) {
      check_blas(cublasGemmEx_64(blas.handle, op_b, op_a, p.n, p.m, p.k, factor, b, type, row_b, a, type,
                                 row_a, kept, c, type, row_c, compute, CUBLAS_GEMM_DEFAULT),
                 "a matrix product");
    } else {
      check_blas(cublasGemmStridedBatchedEx_64(blas.handle, op_b, op_a, p.n, p.m, p.k, factor, b, type, row_b,
                                               p.step_b, a, type, row_a, p.step_a, kept, c, type, row_c,
                                               p.step_c, p.batch, compute, CUBLAS_GEMM_DEFAULT),
                 "a batch of matrix products");
    }
  });
}

// The transpose of op(A) X = B is X^T op(A)^T = B^T: the side changes, and a lower triangle is read as an upper one.
void solve(const TriangularSolve& p, const void* a, void* b, cudaStream_t stream) {
  if (p.rows == 0 || p.columns == 0) return;
  const int64_t n = p.rightside ? p.columns : p.rows;
  const auto side = p.rightside ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
  const auto fill = p.lower ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
  const auto op = operation(p.transpose);
  handles<BlasHandle>().with(stream, [&](const BlasHandle& blas) {
    for (int64_t i = 0; i < p.batch; ++i) {
      if (p.dtype == DType::float64) {
        check_blas(cublasDtrsm_64(blas.handle, side, fill, op, CUBLAS_DIAG_NON_UNIT, p.columns, p.rows,
                                  &p.alpha, static_cast<const double*>(a) + i * n * n, n,
                                  static_cast<double*>(b) + i * p.rows * p.columns, p.columns),
                   "a triangular solution");
      } else {
        const float alpha = static_cast<float>(p.alpha);
        check_blas(cublasStrsm_64(blas.handle, side, fill, op, CUBLAS_DIAG_NON_UNIT, p.columns, p.rows,
                                  &alpha, static_cast<const float*>(a) + i * n * n, n,
                                  static_cast<float*>(b) + i * p.rows * p.columns, p.columns),
                   "a triangular solution");
      }
    }
  });
}

// As above: C^T = B A^T, of which B lies transposed, as cuBLAS's kernels for 8 bits want it.
void multiply_bytes(const ByteGemm& p, const int8_t* a, const int8_t* b, int32_t* c, cudaStream_t stream) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  const int32_t one = 1, zero = 0;
  handles<BlasHandle>().with(stream, [&](const BlasHandle& blas) {
    check_blas(cublasGemmStridedBatchedEx_64(blas.handle, CUBLAS_OP_T, CUBLAS_OP_N, p.n, p.m, p.k, &one, b,
                                             CUDA_R_8I, p.k, p.step_b, a, CUDA_R_8I, p.k, p.step_a, &zero, c,
                                             CUDA_R_32I, p.row_c, p.step_c, p.batch, CUBLAS_COMPUTE_32I,
                                             CUBLAS_GEMM_DEFAULT),
               "a product of whole numbers");
  });
}

}  // namespace loomix::cuda
