// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/dtype.h"

// Loops of LRN over images in blocks of channels, compiled once per instruction set. They work on a few pixels of an image at
// once, for which they keep *rows*: all channels of a pixel one after the other, between margins of zeros. So a window of
// channels is a run of a row, whichever blocks it touches.
namespace loomix::ops {

struct LrnRows {
  int64_t block, blocks;
  int64_t pixels;  // of the image: so far apart are the blocks
  int64_t count;   // pixels that are worked on
  int64_t reach;   // how many channels on each side belong to a window; at most a block

  int64_t channels() const { return blocks * block; }
  int64_t length() const { return channels() + 2 * block; }  // of a row
};

// Of `rows` only the channels are written. T: float or bfloat16; all else is float.
template <class T>
struct LrnLoopsOf {
  void (*squares)(const LrnRows& shape, const T* in, float* rows);
  // in * power; the channels of a pixel are one after the other in `power`.
  void (*scale)(const LrnRows& shape, const float* power, const T* in, T* out);
};

struct LrnLoops {
  // constant + factor * the sum of each window, for the channels of one pixel after the other.
  void (*windows)(const LrnRows& shape, float constant, float factor, const float* rows, float* out);
  LrnLoopsOf<float> of_float32;
  LrnLoopsOf<bfloat16> of_bfloat16;

  template <class T>
  const LrnLoopsOf<T>& of() const {
    if constexpr (std::is_same_v<T, float>) return of_float32;
    else return of_bfloat16;
  }
};

// With denominators d and power = d^-beta, the gradient is grad * power - factor * in * (the sum over the window of
// grad * power * in / d).
template <class T>
struct LrnGradientLoopsOf {
  // Makes rows of what is added up, and of `power` grad * power.
  void (*terms)(const LrnRows& shape, const float* denominators, const T* grad, const T* in, float* power,
                float* rows);
  void (*gradient)(const LrnRows& shape, float factor, const float* direct, const float* rows, const T* in,
                   T* out);
};

struct LrnGradientLoops {
  LrnGradientLoopsOf<float> of_float32;
  LrnGradientLoopsOf<bfloat16> of_bfloat16;

  template <class T>
  const LrnGradientLoopsOf<T>& of() const {
    if constexpr (std::is_same_v<T, float>) return of_float32;
    else return of_bfloat16;
  }
};

}  // namespace loomix::ops
