// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "ops/blocked/winograd_simd.h"
#include "ops/isa.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kSide = 3;
constexpr float kZero = 1 / (kP2 * kQ2), kNear = 1 / (2 * kP2 * (kP2 - kQ2)),
                kFar = 1 / (2 * kQ2 * (kQ2 - kP2));

// A row or column of G y, where y are the four places of a tile's gradient.
[[gnu::always_inline]] inline void spread(const Values* y, int from, Values* t, int to) {
  const Values y1 = y[from], y2 = y[2 * from], y3 = y[3 * from];
  const Values near = y[0] + y2 * kP2, near_odd = (y1 + y3 * kP2) * kP;
  const Values far = y[0] + y2 * kQ2, far_odd = (y1 + y3 * kQ2) * kQ;
  t[0] = y[0] * kZero;
  t[to] = (near + near_odd) * kNear;
  t[2 * to] = (near - near_odd) * kNear;
  t[3 * to] = (far + far_odd) * kFar;
  t[4 * to] = (far - far_odd) * kFar;
  t[5 * to] = y3;
}

// A row or column of A^T m, the three places of a filter.
[[gnu::always_inline]] inline void gather(const Values* m, int from, Values* w, int to) {
  const Values near = m[from] + m[2 * from], near_odd = m[from] - m[2 * from];
  const Values far = m[3 * from] + m[4 * from], far_odd = m[3 * from] - m[4 * from];
  w[0] = m[0] + near + far;
  w[to] = near_odd * kP + far_odd * kQ;
  w[2 * to] = near * kP2 + far * kQ2 + m[5 * from];
}

void transform_grad(const WinogradConv& c, const float* grad, int64_t tile, float* to, int64_t panel_step,
                    int64_t value_step) {
  const Place place(c, tile);
  const int64_t blocks = c.filters / kBlock;
  const int64_t rows = std::min(kOut, c.out[0] - place.y), columns = std::min(kOut, c.out[1] - place.x);
  for (int64_t block = 0; block < blocks; ++block) {
    const float* const image =
        grad + (((place.image * blocks + block) * c.out[0] + place.y) * c.out[1] + place.x) * kBlock;
    Values y[kOut * kOut], half[kTile * kOut], t[kValues];
    for (int64_t i = 0; i < kOut; ++i) {
      for (int64_t j = 0; j < kOut; ++j)
        y[i * kOut + j] = i < rows && j < columns ? at(image + (i * c.out[1] + j) * kBlock) : Values{};
    }
    for (int j = 0; j < kOut; ++j) spread(y + j, kOut, half + j, kOut);
    for (int i = 0; i < kTile; ++i) spread(half + i * kOut, 1, t + i * kTile, 1);
    float* const panel = to + block * kBlock / kPanel * panel_step + block * kBlock % kPanel;
    for (int64_t i = 0; i < kValues; ++i) put(t[i], panel + i * value_step);
  }
}

void transform(const WinogradConv& c, const float* data, const float* grad, int64_t tile, int64_t place,
               int64_t at_once, float* data_tiles, float* grad_tiles) {
  transform_data(c, data, tile, data_tiles + place * c.row(), at_once * c.row());
  transform_grad(c, grad, tile, grad_tiles + place * kPanel, at_once * kPanel, at_once * c.filters);
}

// sums[R][16] (+)= the sum over tiles of data[tile][R] grad[tile][16]
template <int R>
void multiply(int64_t tiles, const float* data, int64_t row, const float* grad, float* sums, bool add) {
  Values sum[R][2];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    sum[r][0] = add ? at(sums + r * kPanel) : Values{};
    sum[r][1] = add ? at(sums + r * kPanel + kBlock) : Values{};
  }
  for (int64_t tile = 0; tile < tiles; ++tile, data += row, grad += kPanel) {
    // Volatile, or GCC may load it anew for each row.
    const Values left = *reinterpret_cast<const volatile LooseValues*>(grad);
    const Values right = *reinterpret_cast<const volatile LooseValues*>(grad + kBlock);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const float x = data[r];
      sum[r][0] += x * left;
      sum[r][1] += x * right;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    put(sum[r][0], sums + r * kPanel);
    put(sum[r][1], sums + r * kPanel + kBlock);
  }
}

// Channels are whole blocks of 16: all but the last four, or two, are in whole rows of sums.
void add_up(const WinogradConv& c, int64_t value, int64_t panel, int64_t tiles, int64_t at_once,
            const float* data_tiles, const float* grad_tiles, float* sums, bool add) {
  const float* const data = data_tiles + value * at_once * c.row();
  const float* const grad = grad_tiles + (value * c.filters + panel * kPanel) * at_once;
  float* const to = sums + (value * c.filters + panel * kPanel) * c.channels;
  int64_t channel = 0;
  for (; channel + kRows <= c.channels; channel += kRows)
    multiply<kRows>(tiles, data + channel, c.row(), grad, to + channel * kPanel, add);
  for (; channel < c.channels; channel += 2)
    multiply<2>(tiles, data + channel, c.row(), grad, to + channel * kPanel, add);
}

void finish(const WinogradConv& c, int64_t panel, const float* sums, float* weight) {
  const int64_t value_step = c.filters * c.channels;
  for (int64_t channel = 0; channel < c.channels; ++channel) {
    for (int64_t first = 0; first < kPanel; first += kBlock) {
      const float* const from = sums + panel * kPanel * c.channels + channel * kPanel + first;
      Values m[kValues], half[kSide * kTile], w[kSide * kSide];
      for (int64_t i = 0; i < kValues; ++i) m[i] = at(from + i * value_step);
      for (int j = 0; j < kTile; ++j) gather(m + j, kTile, half + j, kTile);
      for (int i = 0; i < kSide; ++i) gather(half + i * kTile, 1, w + i * kSide, 1);
      for (int64_t lane = 0; lane < kBlock; ++lane) {
        float* const to = weight + ((panel * kPanel + first + lane) * c.channels + channel) * kSide * kSide;
        for (int64_t i = 0; i < kSide * kSide; ++i) to[i] = w[i][lane];
      }
    }
  }
}

constexpr WinogradGradientLoops kLoops = {transform, add_up, finish};

}  // namespace

template <>
const WinogradGradientLoops& compiled_loops<WinogradGradientLoops>() {
  return kLoops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
