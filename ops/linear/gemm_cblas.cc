// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>

#include <algorithm>

#include "engine/parallel_for.h"
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

// Tiles of C, and of A and B where they are multiplied. Their sizes follow from the shape alone, so that results do not
// depend on the cores.
struct Tiling {
  static constexpr int64_t kRows = 128, kColumns = 256, kDepth = 256;
  int64_t rows, columns, depth;

  explicit Tiling(const MatMul& s)
      : rows(std::min(s.m, kRows)), columns(std::min(s.n, kColumns)), depth(std::min(s.k, kDepth)) {}
  int64_t floats() const { return rows * depth + depth * columns + rows * columns; }
};

// A (rows, columns) piece of a half matrix as floats that follow each other.
void load(DType dtype, const void* matrix, int64_t leading, int64_t row, int64_t column, int64_t rows,
          int64_t columns, float* to) {
  const char* from = static_cast<const char*>(matrix) + (row * leading + column) * size_of(dtype);
  for (int64_t i = 0; i < rows; ++i)
    convert_row(dtype, from + i * leading * size_of(dtype), DType::float32, to + i * columns, columns);
}

void gemm_by_float(const MatMul& s, DType dtype, const void* a, const void* b, void* c,
                   engine::RunContext& context, ScratchSlots& tiles) {
  const Tiling t(s);
  const Leading ld{s.transpose_a ? s.m : s.k, s.transpose_b ? s.k : s.n, s.n};
  const int64_t across = (s.n + t.columns - 1) / t.columns;
  const int64_t count = (s.m + t.rows - 1) / t.rows * across;
  const bool small = 2.0 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k) < kFlopsForTeam;
  engine::set_omp_threads(1);
  engine::parallel_for(context, count, small ? count : 1, [&](int64_t first, int64_t last) {
    const ScratchSlots::Use slot(tiles);
    float* const left = slot.as<float>();
    float* const right = left + t.rows * t.depth;
    float* const sums = right + t.depth * t.columns;
    for (int64_t tile = first; tile < last; ++tile) {
      const int64_t row = tile / across * t.rows, column = tile % across * t.columns;
      MatMul part = s;
      part.m = std::min(t.rows, s.m - row);
      part.n = std::min(t.columns, s.n - column);
      if (s.add) load(dtype, c, ld.c, row, column, part.m, part.n, sums);
      for (int64_t k = 0; k < s.k; k += t.depth, part.add = true) {
        part.k = std::min(t.depth, s.k - k);
        if (s.transpose_a) load(dtype, a, ld.a, k, row, part.k, part.m, left);
        else load(dtype, a, ld.a, row, k, part.m, part.k, left);
        if (s.transpose_b) load(dtype, b, ld.b, column, k, part.n, part.k, right);
        else load(dtype, b, ld.b, k, column, part.k, part.n, right);
        block_cblas(part, {s.transpose_a ? part.m : part.k, s.transpose_b ? part.k : part.n, part.n}, left,
                    right, sums);
      }
      char* const to = static_cast<char*>(c) + (row * ld.c + column) * size_of(dtype);
      for (int64_t i = 0; i < part.m; ++i)
        convert_row(DType::float32, sums + i * part.n, dtype, to + i * ld.c * size_of(dtype), part.n);
    }
  });
  engine::set_omp_threads(context.cores);
}

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

}  // namespace

size_t matmul_tile_bytes(const MatMul& s, DType dtype) {
  if (!is_half(dtype)) return 0;
  return static_cast<size_t>((Tiling(s).floats() + 15) / 16 * 16) * sizeof(float);
}

void matmul_cblas(const MatMul& s, DType dtype, const void* a, const void* b, void* c,
                  engine::RunContext& context, ScratchSlots* tiles) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) {
    if (!s.add) std::fill_n(static_cast<char*>(c), s.m * s.n * size_of(dtype), char{0});
    return;
  }
  if (is_half(dtype)) {
    LOOMIX_INTERNAL_CHECK(tiles != nullptr);
    return gemm_by_float(s, dtype, a, b, c, context, *tiles);
  }
  const auto gemm = [&]<class T>(Type<T>) {
    gemm_by_blocks(s, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c), context,
                   [](const auto&... block) { block_cblas(block...); });
  };
  if (dtype == DType::float64) gemm(Type<double>());
  else gemm(Type<float>());
}

}  // namespace loomix::ops
