// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>

#include <algorithm>

#include "base/error.h"
#include "ops/linear/gemm_blocks.h"

namespace loomix::ops {
namespace {

void block_cblas(const MatMul& s, const Leading& ld, const float* a, const float* b, float* c) {
  const auto size = [](int64_t n) { return static_cast<blasint>(n); };
  const float beta = s.add ? 1.0f : 0.0f;
  if (s.m == 1) {
    // y = op(B)^T a: B is (n, k) if it is to be transposed, else (k, n).
    cblas_sgemv(CblasRowMajor, s.transpose_b ? CblasNoTrans : CblasTrans, size(s.transpose_b ? s.n : s.k),
                size(s.transpose_b ? s.k : s.n), 1.0f, b, size(ld.b), a, s.transpose_a ? size(ld.a) : 1, beta,
                c, 1);
    return;
  }
  cblas_sgemm(CblasRowMajor, s.transpose_a ? CblasTrans : CblasNoTrans,
              s.transpose_b ? CblasTrans : CblasNoTrans, size(s.m), size(s.n), size(s.k), 1.0f, a, size(ld.a),
              b, size(ld.b), beta, c, size(ld.c));
}

void block_cblas(const MatMul& s, const Leading& ld, const double* a, const double* b, double* c) {
  const auto size = [](int64_t n) { return static_cast<blasint>(n); };
  cblas_dgemm(CblasRowMajor, s.transpose_a ? CblasTrans : CblasNoTrans,
              s.transpose_b ? CblasTrans : CblasNoTrans, size(s.m), size(s.n), size(s.k), 1.0, a, size(ld.a),
              b, size(ld.b), s.add ? 1.0 : 0.0, c, size(ld.c));
}

}  // namespace

void matmul_cblas(const MatMul& s, DType dtype, const void* a, const void* b, void* c,
                  engine::RunContext& context) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) {
    if (!s.add) std::fill_n(static_cast<char*>(c), s.m * s.n * size_of(dtype), char{0});
    return;
  }
  LOOMIX_CHECK(dtype == DType::float32 || dtype == DType::float64, TypeError,
               "[matmul] BLAS's product is for float32 and float64, not {}.", name_of(dtype));
  const auto gemm = [&]<class T>(Type<T>) {
    gemm_by_blocks(s, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c), context,
                   [](const auto&... block) { block_cblas(block...); });
  };
  if (dtype == DType::float64) gemm(Type<double>());
  else gemm(Type<float>());
}

}  // namespace loomix::ops
