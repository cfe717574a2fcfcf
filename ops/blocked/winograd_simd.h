// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/blocked/winograd_conv.h"

// What the loops of Winograd's method share: the transforms at the points of winograd_weight_simd.cc. Only for files that are
// compiled once per instruction set.
namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kBlock = WinogradConv::kBlock, kOut = WinogradConv::kOut, kTile = WinogradConv::kTile,
                  kValues = WinogradConv::kValues;
constexpr int64_t kPanel = 16;  // filters of a panel of the weight
constexpr int kRows = 6;        // of sums that fill the registers

typedef float Values __attribute__((vector_size(kBlock * sizeof(float))));
typedef float LooseValues
    __attribute__((vector_size(kBlock * sizeof(float)), aligned(4), may_alias));  // anywhere in memory

inline Values at(const float* from) { return *reinterpret_cast<const LooseValues*>(from); }
inline void put(const Values& values, float* to) { *reinterpret_cast<LooseValues*>(to) = values; }

constexpr float kP = 0.625f, kQ = 1.5f, kP2 = kP * kP, kQ2 = kQ * kQ;

// A row or column of B^T d.
[[gnu::always_inline]] inline void take_in(const Values* d, int from, Values* t, int to) {
  const Values d1 = d[from], d2 = d[2 * from], d3 = d[3 * from], d4 = d[4 * from];
  const Values near = d4 - d2 * kQ2, near_odd = (d3 - d1 * kQ2) * kP;
  const Values far = d4 - d2 * kP2, far_odd = (d3 - d1 * kP2) * kQ;
  t[0] = d[0] * (kP2 * kQ2) - d2 * (kP2 + kQ2) + d4;
  t[to] = near + near_odd;
  t[2 * to] = near - near_odd;
  t[3 * to] = far + far_odd;
  t[4 * to] = far - far_odd;
  t[5 * to] = d1 * (kP2 * kQ2) - d3 * (kP2 + kQ2) + d[5 * from];
}

// Where a tile lies.
struct Place {
  int64_t image, y, x;  // of its first output
  Place(const WinogradConv& c, int64_t tile) {
    const int64_t columns = c.tiles(1), rows = c.tiles(0);
    image = tile / (rows * columns);
    y = tile / columns % rows * kOut;
    x = tile % columns * kOut;
  }
};

// B^T d B of all channels, to one row for each of its values.
inline void transform_data(const WinogradConv& c, const float* data, int64_t tile, float* to, int64_t step) {
  const Place place(c, tile);
  const int64_t top = place.y - c.pad[0], left = place.x - c.pad[1], blocks = c.channels / kBlock;
  const bool is_inside = top >= 0 && left >= 0 && top + kTile <= c.in[0] && left + kTile <= c.in[1];
  for (int64_t block = 0; block < blocks; ++block, to += kBlock) {
    const float* const image = data + (place.image * blocks + block) * c.in[0] * c.in[1] * kBlock;
    Values d[kValues], half[kValues];
    for (int64_t i = 0; i < kTile; ++i) {
      const int64_t y = top + i;
      for (int64_t j = 0; j < kTile; ++j) {
        const int64_t x = left + j;
        const bool is_there = is_inside || (y >= 0 && y < c.in[0] && x >= 0 && x < c.in[1]);
        d[i * kTile + j] = is_there ? at(image + (y * c.in[1] + x) * kBlock) : Values{};
      }
    }
    for (int j = 0; j < kTile; ++j) take_in(d + j, kTile, half + j, kTile);
    for (int i = 0; i < kTile; ++i) take_in(half + i * kTile, 1, d + i * kTile, 1);
    for (int64_t i = 0; i < kValues; ++i) put(d[i], to + i * step);
  }
}

}  // namespace
}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
