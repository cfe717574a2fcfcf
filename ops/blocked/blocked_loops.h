// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/dtype.h"

// Loops over images in blocks of channels, compiled once per instruction set. A pixel is the elements of a block.
namespace loomix::ops {

struct BlockedWindows {  // of one axis
  int64_t in, out, kernel, stride, pad;
};

// T: float, or bfloat16, which computes in float and rounds results once.
template <class T>
struct BlockedLoopsOf {
  // One plane of pixels.
  void (*max_pool)(int64_t block, const BlockedWindows& rows, const BlockedWindows& columns, const T* in,
                   T* out);
  // `with_pad`: pixels that were added count as zeros.
  void (*average_pool)(int64_t block, const BlockedWindows& rows, const BlockedWindows& columns,
                       bool with_pad, const T* in, T* out);
  // in * scale + shift, from `low` to `high`.
  void (*scale)(int64_t block, int64_t pixels, const float* scale, const float* shift, float low, float high,
                const T* in, T* out);
  // Between a block's channels, each of `pixels` elements, and its pixels; of the last block some channels may be missing.
  void (*to_pixels)(int64_t block, int64_t channels, int64_t pixels, const T* in, T* out);
  void (*to_channels)(int64_t block, int64_t channels, int64_t pixels, const T* in, T* out);
};

struct BlockedLoops {
  BlockedLoopsOf<float> of_float32;
  BlockedLoopsOf<bfloat16> of_bfloat16;

  template <class T>
  const BlockedLoopsOf<T>& of() const {
    if constexpr (std::is_same_v<T, float>) return of_float32;
    else return of_bfloat16;
  }
};

}  // namespace loomix::ops
