// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>

#include <algorithm>

#include "base/error.h"
#include "ops/elemwise/loops.h"
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

void matmul_halves(const MatMul& s, DType dtype, const void* a, const void* b, void* c,
                   engine::RunContext& context) {
  constexpr int64_t kLong = 2048, kShort = 8;  // of a piece of B: it is read in long stretches
  const int64_t most_depth = s.transpose_b ? kLong : kShort, most_columns = s.transpose_b ? kShort : kLong;
  // `rows` rows of halves, `step` elements apart.
  const auto bring = [dtype](const void* from, int64_t first, int64_t step, int64_t rows, int64_t columns,
                             float* to) {
    for (int64_t i = 0; i < rows; ++i)
      convert_row(dtype, static_cast<const char*>(from) + (first + i * step) * size_of(dtype), DType::float32,
                  to + i * columns, columns);
  };
  LOOMIX_INTERNAL_CHECK(s.m <= kFewRows && !s.transpose_a);
  engine::set_omp_threads(1);
  engine::parallel_for(context, (s.n + most_columns - 1) / most_columns, 1, [&](int64_t begin, int64_t end) {
    alignas(64) float left[kFewRows * kLong], right[kLong * kShort], sums[kFewRows * kLong];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * most_columns, columns = std::min(most_columns, s.n - first);
      if (s.add) bring(c, first, s.n, s.m, columns, sums);
      else std::fill_n(sums, s.m * columns, 0.0f);
      for (int64_t k = 0; k < s.k; k += most_depth) {
        const int64_t depth = std::min(most_depth, s.k - k);
        bring(a, k, s.k, s.m, depth, left);
        if (s.transpose_b) bring(b, first * s.k + k, s.k, columns, depth, right);
        else bring(b, k * s.n + first, s.n, depth, columns, right);
        block_cblas({s.m, columns, depth, false, s.transpose_b, true},
                    {depth, s.transpose_b ? depth : columns, columns}, left, right, sums);
      }
      for (int64_t i = 0; i < s.m; ++i)
        convert_row(DType::float32, sums + i * columns, dtype,
                    static_cast<char*>(c) + (i * s.n + first) * size_of(dtype), columns);
    }
  });
  engine::set_omp_threads(context.cores);
}

}  // namespace loomix::ops
