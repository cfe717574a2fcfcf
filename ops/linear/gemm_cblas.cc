// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "ops/elemwise/loops.h"
#include "ops/isa.h"
#include "ops/linalg/blas.h"
#include "ops/linear/gemm_blocks.h"
#include "ops/linear/half_row.h"

namespace loomix::ops {
namespace {

template <class T>
void block_cblas(const MatMul& s, const Leading& ld, const T* a, const T* b, T* c) {
  const T beta = s.add ? 1 : 0;
  if (s.m == 1) {
    // y = op(B)^T a: B is (n, k) if it is to be transposed, else (k, n).
    Blas<T>::gemv(CblasRowMajor, transposed(!s.transpose_b), blas_size(s.transpose_b ? s.n : s.k),
                  blas_size(s.transpose_b ? s.k : s.n), 1, b, blas_size(ld.b), a,
                  s.transpose_a ? blas_size(ld.a) : 1, beta, c, 1);
    return;
  }
  Blas<T>::gemm(CblasRowMajor, transposed(s.transpose_a), transposed(s.transpose_b), blas_size(s.m),
                blas_size(s.n), blas_size(s.k), 1, a, blas_size(ld.a), b, blas_size(ld.b), beta, c,
                blas_size(ld.c));
}

}  // namespace

void matmul_cblas(const MatMul& s, DType dtype, const void* a, const void* b, void* c,
                  engine::RunContext& context) {
  dispatch_real(dtype, "matmul", [&]<class T>(Type<T>) {
    gemm_by_blocks(s, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c), context,
                   CutBy::shape, block_cblas<T>);
  });
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
  const HalfRowLoops& loops = best_loops<HalfRowLoops>();
  const HalfRow* const one_row = s.m > 1 ? nullptr : dtype == DType::float16 ? loops.f16 : loops.bf16;
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
        if (one_row) {
          const auto* const from =
              static_cast<const uint16_t*>(b) + (s.transpose_b ? first * s.k + k : k * s.n + first);
          if (s.transpose_b) one_row->dots(columns, depth, left, from, s.k, sums);
          else one_row->adds(columns, depth, left, from, s.n, sums);
          continue;
        }
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
  engine::set_omp_threads(context.threads);
}

}  // namespace loomix::ops
