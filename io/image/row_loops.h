// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::io {

// value = pixel * scale + shift, for each channel.
struct Normalise {
  float scale[4] = {1, 1, 1, 1};
  float shift[4] = {0, 0, 0, 0};
};

// Loops over rows of pixels; row_loops_simd.cc, compiled for each instruction set.
struct RowLoops {
  // out[i] = sum of weight[k] * rows[k][i], rounded and clamped.
  void (*blend)(const float* const* rows, const float* weight, int count, int64_t n, uint8_t* out);
  // A row of interleaved pixels to one row a channel, `plane` values apart; from right to left if mirrored.
  void (*to_float)(const uint8_t* in, int64_t width, int channels, bool mirror, const Normalise& by,
                   float* out, int64_t plane);
  void (*to_bytes)(const uint8_t* in, int64_t width, int channels, bool mirror, uint8_t* out, int64_t plane);
};

const RowLoops& row_loops();

}  // namespace loomix::io
