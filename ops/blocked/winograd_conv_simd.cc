// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "ops/blocked/winograd_simd.h"
#include "ops/isa.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kFiltersAtOnce = WinogradConv::kFiltersAtOnce;
constexpr int64_t kDepth = 256;  // channels for which a panel stays in the first cache

// A row or column of A^T m.
[[gnu::always_inline]] inline void give_out(const Values* m, int from, Values* y, int to) {
  const Values near = m[from] + m[2 * from], near_odd = m[from] - m[2 * from];
  const Values far = m[3 * from] + m[4 * from], far_odd = m[3 * from] - m[4 * from];
  y[0] = m[0] + near + far;
  y[to] = near_odd * kP + far_odd * kQ;
  y[2 * to] = near * kP2 + far * kQ2;
  y[3 * to] = near_odd * (kP2 * kP) + far_odd * (kQ2 * kQ) + m[5 * from];
}

// sums[R][16] (+)= data[R][depth] panel[depth][16]
template <int R>
void multiply(int64_t depth, const float* data, int64_t row, const float* panel, float* sums, bool add) {
  Values sum[R][2];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    sum[r][0] = add ? at(sums + r * kFiltersAtOnce) : Values{};
    sum[r][1] = add ? at(sums + r * kFiltersAtOnce + kBlock) : Values{};
  }
  for (int64_t k = 0; k < depth; ++k, panel += kPanel) {
    // Volatile, or GCC may load it anew for each row.
    const Values left = *reinterpret_cast<const volatile LooseValues*>(panel);
    const Values right = *reinterpret_cast<const volatile LooseValues*>(panel + kBlock);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const float x = data[r * row + k];
      sum[r][0] += x * left;
      sum[r][1] += x * right;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    put(sum[r][0], sums + r * kFiltersAtOnce);
    put(sum[r][1], sums + r * kFiltersAtOnce + kBlock);
  }
}

void multiply_rows(int64_t rows, int64_t depth, const float* data, int64_t row, const float* panel,
                   float* sums, bool add) {
  switch (rows) {
    case 1: return multiply<1>(depth, data, row, panel, sums, add);
    case 2: return multiply<2>(depth, data, row, panel, sums, add);
    case 3: return multiply<3>(depth, data, row, panel, sums, add);
    case 4: return multiply<4>(depth, data, row, panel, sums, add);
    case 5: return multiply<5>(depth, data, row, panel, sums, add);
    default: return multiply<kRows>(depth, data, row, panel, sums, add);
  }
}

// One block of filters of a tile's output.
void transform_out(const WinogradConv& c, const WinogradConvArrays& arrays, int64_t tile, int64_t filter,
                   const float* from, int64_t step) {
  const Place place(c, tile);
  Values m[kValues], half[kOut * kTile], y[kOut * kOut];
  for (int64_t i = 0; i < kValues; ++i) m[i] = at(from + i * step);
  for (int j = 0; j < kTile; ++j) give_out(m + j, kTile, half + j, kTile);
  for (int i = 0; i < kOut; ++i) give_out(half + i * kTile, 1, y + i * kOut, 1);
  const int64_t rows = std::min(kOut, c.out[0] - place.y), columns = std::min(kOut, c.out[1] - place.x);
  const int64_t first =
      (((place.image * c.filters + filter) / kBlock * c.out[0] + place.y) * c.out[1] + place.x) * kBlock;
  const Values bias = arrays.bias ? at(arrays.bias + filter) : Values{};
  const Values low = Values{} + arrays.low, high = Values{} + arrays.high;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t pixel = first + (i * c.out[1] + j) * kBlock;
      Values value = y[i * kOut + j] + bias;
      if (arrays.added) value += at(arrays.added + pixel);
      value = value < low ? low : value;  // NaN stays
      put(value > high ? high : value, arrays.out + pixel);
    }
  }
}

void run(const WinogradConv& c, const WinogradConvArrays& arrays, int64_t first_tile, int64_t last_tile,
         int64_t first_filter, int64_t last_filter, int64_t at_once, float* scratch) {
  const int64_t tiles = last_tile - first_tile, row = c.row();
  float* const data = scratch;                            // value, tile, channel
  float* const sums = scratch + kValues * at_once * row;  // value, tile, filter
  for (int64_t tile = 0; tile < tiles; ++tile)
    transform_data(c, arrays.data, first_tile + tile, data + tile * row, at_once * row);
  for (int64_t begin = first_filter; begin < last_filter; begin += kFiltersAtOnce) {
    const int64_t end = std::min(begin + kFiltersAtOnce, last_filter);
    for (int64_t value = 0; value < kValues; ++value) {
      for (int64_t filter = begin; filter < end; filter += kPanel) {
        const float* const panel = arrays.weight + (value * c.filters + filter) * c.channels;
        float* const to = sums + value * at_once * kFiltersAtOnce + filter - begin;
        for (int64_t k = 0; k < c.channels; k += kDepth) {
          for (int64_t tile = 0; tile < tiles; tile += kRows)
            multiply_rows(std::min<int64_t>(kRows, tiles - tile), std::min(kDepth, c.channels - k),
                          data + (value * at_once + tile) * row + k, row, panel + k * kPanel,
                          to + tile * kFiltersAtOnce, k > 0);
        }
      }
    }
    for (int64_t tile = 0; tile < tiles; ++tile) {
      for (int64_t filter = begin; filter < end; filter += kBlock)
        transform_out(c, arrays, first_tile + tile, filter, sums + tile * kFiltersAtOnce + filter - begin,
                      at_once * kFiltersAtOnce);
    }
  }
}

constexpr WinogradConvLoops kLoops = {run};

}  // namespace

template <>
const WinogradConvLoops& compiled_loops<WinogradConvLoops>() {
  return kLoops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
