// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The register tile of our matrix products, for files *_simd.cc. A tile multiplies a block of up to kTileRows matrix
// rows, kept in registers, with a panel kTileWidth columns wide. float32.
namespace loomix::ops::LOOMIX_ISA_NAMESPACE {

// A tile's sums fill the registers but for one panel row and a broadcast.
#if defined(__AVX512F__)
inline constexpr int kLanes = 16, kVectors = 4, kTileRows = 6;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8, kVectors = 2, kTileRows = 6;
#else
inline constexpr int kLanes = 4, kVectors = 2, kTileRows = 6;
#endif
inline constexpr int kTileWidth = kLanes * kVectors;

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef float LooseVector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

// c[R][V vectors] = start + a b: a is element (r, k) at a[r * a_row + k * a_step], b[k * b_row + column].
template <int R, int V>
void tile(int64_t depth, const float* a, int64_t a_row, int64_t a_step, const float* b, int64_t b_row,
          float* c, int64_t c_row, const float* bias, bool add) {
  Vector sums[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      if (add) sums[r][v] = *reinterpret_cast<const LooseVector*>(c + r * c_row + v * kLanes);
      else sums[r][v] = Vector{} + (bias ? bias[r] : 0.0f);
    }
  }
  for (int64_t k = 0; k < depth; ++k, b += b_row, a += a_step) {
    // Volatile, so that a row is loaded once: otherwise GCC may load it anew for each row of sums, which takes longer than
    // to multiply.
    Vector row[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) row[v] = *reinterpret_cast<const volatile LooseVector*>(b + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const float x = a[r * a_row];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sums[r][v] += x * row[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) *reinterpret_cast<LooseVector*>(c + r * c_row + v * kLanes) = sums[r][v];
  }
}

template <int V>
void tile_rows(int64_t rows, int64_t depth, const float* a, int64_t a_row, int64_t a_step, const float* b,
               int64_t b_row, float* c, int64_t c_row, const float* bias, bool add) {
  switch (rows) {
    case 1: return tile<1, V>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
    case 2: return tile<2, V>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
    case 3: return tile<3, V>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
    case 4: return tile<4, V>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
    case 5: return tile<5, V>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
    default: return tile<6, V>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
  }
}

// As many vectors as `columns` need; c's rows must have room for them.
inline void tile_any(int64_t rows, int64_t columns, int64_t depth, const float* a, int64_t a_row,
                     int64_t a_step, const float* b, int64_t b_row, float* c, int64_t c_row,
                     const float* bias, bool add) {
  const int64_t vectors = (columns + kLanes - 1) / kLanes;
  if (vectors == 1) return tile_rows<1>(rows, depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
  if (vectors == 2) return tile_rows<2>(rows, depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
  if constexpr (kVectors > 2) {
    if (vectors == 3) return tile_rows<3>(rows, depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
  }
  return tile_rows<kVectors>(rows, depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
