// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/isa.h"
#include "ops/linear/short_sums_loops.h"
#include "ops/simd_tile.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

template <int kWidth>
void pack(int64_t terms, int64_t length, const float* from, int64_t begin, int64_t end, float* to) {
  for (int64_t strip = begin; strip < end; ++strip) {
    const int64_t first = strip * kWidth, used = std::min<int64_t>(kWidth, length - first);
    const float* row = from + first;
    float* packed = to + first * terms;
    if (used == kWidth) {
      for (int64_t k = 0; k < terms; ++k, row += length, packed += kWidth) std::copy_n(row, kWidth, packed);
      continue;
    }
    for (int64_t k = 0; k < terms; ++k, row += length, packed += kWidth)
      std::fill(std::copy_n(row, used, packed), packed + kWidth, 0.0f);
  }
}

// The last columns of c, which are fewer than a tile's.
void multiply_edge(int64_t terms, int64_t n, const float* a, const float* b, int64_t begin, int64_t end,
                   float* c, int64_t used, bool add) {
  float sums[kTileRows * kTileWidth];
  for (int64_t row = begin; row < end; row += kTileRows) {
    const int64_t rows = std::min<int64_t>(kTileRows, end - row);
    tile_any(rows, used, terms, a + row * terms, 1, kTileRows, b, kTileWidth, sums, kTileWidth, nullptr,
             false);
    for (int64_t r = 0; r < rows; ++r) {
      float* const to = c + (row + r) * n;
      for (int64_t j = 0; j < used; ++j) to[j] = sums[r * kTileWidth + j] + (add ? to[j] : 0.0f);
    }
  }
}

void multiply(int64_t terms, int64_t n, const float* a, const float* b, int64_t begin, int64_t end, float* c,
              bool add) {
  for (int64_t column = 0; column < n; column += kTileWidth, b += kTileWidth * terms) {
    if (column + kTileWidth > n) {
      multiply_edge(terms, n, a, b, begin, end, c + column, n - column, add);
      return;
    }
    for (int64_t row = begin; row < end; row += kTileRows) {
      tile_any(std::min<int64_t>(kTileRows, end - row), kTileWidth, terms, a + row * terms, 1, kTileRows, b,
               kTileWidth, c + row * n + column, n, nullptr, add);
    }
  }
}

}  // namespace

template <>
const ShortSumsLoops& compiled_loops() {
  static const ShortSumsLoops loops = {kTileRows, kTileWidth, pack<kTileRows>, pack<kTileWidth>, multiply};
  return loops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
