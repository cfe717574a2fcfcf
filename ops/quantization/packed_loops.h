// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::ops {

// Loops over rows of 8 bits, for one instruction set. Whole numbers are computed with as float32, a piece of a row at a time.
struct PackedLoops {
  // out = data * factor, or out += that.
  void (*widen)(const uint8_t* data, bool is_signed, int64_t count, float factor, float* out);
  void (*add)(const uint8_t* data, bool is_signed, int64_t count, float factor, float* out);
  // The nearest whole numbers of data * factor within the bounds; halves to even.
  void (*narrow)(const float* data, int64_t count, float factor, float low, float high, uint8_t* out);
  // Greater ones of two rows.
  void (*largest)(const uint8_t* data, bool is_signed, int64_t count, uint8_t* out);
  // out[i * step] = data[i]
  void (*spread)(const uint8_t* data, int64_t count, int64_t step, uint8_t* out);
};

}  // namespace loomix::ops
