// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/isa.h"
#include "ops/linalg/blas.h"
#include "ops/simd_tile.h"

// A blocked product: pieces of A and panels of B are packed into memory that stays in the caches, and multiplied tile by tile.
namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kDepth = 256;           // of a piece
constexpr int64_t kRows = 8 * kTileRows;  // of a piece of A

struct Piece {
  int64_t rows, columns, depth;
};

// A's rows in blocks of a tile, each [depth][rows of the block], times alpha.
void pack_a(const Piece& p, const float* a, int64_t row_step, int64_t depth_step, float alpha, float* to) {
  for (int64_t first = 0; first < p.rows; first += kTileRows) {
    const int64_t rows = std::min<int64_t>(kTileRows, p.rows - first);
    for (int64_t k = 0; k < p.depth; ++k) {
      for (int64_t r = 0; r < rows; ++r) *to++ = alpha * a[(first + r) * row_step + k * depth_step];
    }
  }
}

// A panel of B, [depth][kTileWidth], with zeros behind its last column.
void pack_b(const Piece& p, const float* b, int64_t depth_step, int64_t column_step, float* to) {
  for (int64_t k = 0; k < p.depth; ++k, to += kTileWidth) {
    const float* from = b + k * depth_step;
    if (column_step == 1) std::memcpy(to, from, static_cast<size_t>(p.columns) * sizeof(float));
    else
      for (int64_t j = 0; j < p.columns; ++j) to[j] = from[j * column_step];
    std::fill(to + p.columns, to + kTileWidth, 0.0f);
  }
}

void multiply_panel(const Piece& p, const float* a, const float* b, float* c, int64_t ldc, bool add) {
  for (int64_t first = 0; first < p.rows;
       first += kTileRows, a += kTileRows * p.depth, c += kTileRows * ldc) {
    const int64_t rows = std::min<int64_t>(kTileRows, p.rows - first);
    if (p.columns == kTileWidth) {
      tile_rows<kVectors>(rows, p.depth, a, 1, rows, b, kTileWidth, c, ldc, nullptr, add);
      continue;
    }
    float part[kTileRows * kTileWidth];
    tile_any(rows, p.columns, p.depth, a, 1, rows, b, kTileWidth, part, kTileWidth, nullptr, false);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < p.columns; ++j)
        c[r * ldc + j] = part[r * kTileWidth + j] + (add ? c[r * ldc + j] : 0.0f);
    }
  }
}

// y = alpha A x + beta y; each row of A is one sum.
void gemv_rows(int64_t rows, int64_t columns, float alpha, const float* a, int64_t lda, const float* x,
               float beta, float* y) {
  for (int64_t i = 0; i < rows; ++i, a += lda) {
    Vector sums[2] = {};
    int64_t j = 0;
    for (; j + 2 * kLanes <= columns; j += 2 * kLanes) {
      for (int v = 0; v < 2; ++v)
        sums[v] += *reinterpret_cast<const LooseVector*>(a + j + v * kLanes) *
                   *reinterpret_cast<const LooseVector*>(x + j + v * kLanes);
    }
    float sum = 0;
    for (; j < columns; ++j) sum += a[j] * x[j];
    for (int lane = 0; lane < kLanes; ++lane) sum += sums[0][lane] + sums[1][lane];
    y[i] = alpha * sum + (beta == 0 ? 0.0f : beta * y[i]);
  }
}

void gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
          const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  for (int64_t i = 0; beta != 1 && i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) c[i * ldc + j] = beta == 0 ? 0.0f : beta * c[i * ldc + j];
  }
  alignas(64) float packed_a[kRows * kDepth];
  alignas(64) float packed_b[kDepth * kTileWidth];
  for (int64_t depth = 0; depth < k; depth += kDepth) {
    Piece piece{0, 0, std::min(kDepth, k - depth)};
    for (int64_t row = 0; row < m; row += kRows) {
      piece.rows = std::min(kRows, m - row);
      pack_a(piece, ta ? a + depth * lda + row : a + row * lda + depth, ta ? 1 : lda, ta ? lda : 1, alpha,
             packed_a);
      for (int64_t column = 0; column < n; column += kTileWidth) {
        piece.columns = std::min<int64_t>(kTileWidth, n - column);
        pack_b(piece, tb ? b + column * ldb + depth : b + depth * ldb + column, tb ? 1 : ldb, tb ? ldb : 1,
               packed_b);
        multiply_panel(piece, packed_a, packed_b, c + row * ldc + column, ldc, true);
      }
    }
  }
}

void gemv(bool transposed, int64_t rows, int64_t columns, float alpha, const float* a, int64_t lda,
          const float* x, float beta, float* y) {
  if (!transposed) return gemv_rows(rows, columns, alpha, a, lda, x, beta, y);
  for (int64_t j = 0; j < columns; ++j) y[j] = beta == 0 ? 0.0f : beta * y[j];
  for (int64_t i = 0; i < rows; ++i, a += lda) {
    const float factor = alpha * x[i];
    for (int64_t j = 0; j < columns; ++j) y[j] += factor * a[j];
  }
}

}  // namespace

template <>
const BlasLoops& compiled_loops() {
  static const BlasLoops loops = {gemm, gemv};
  return loops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
