// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/blocked/blocked_loops.h"

// Loops over images in blocks of channels that only training needs, compiled once per instruction set. Numbers of channels
// are arrays of a block's length.
namespace loomix::ops {

// Partial sums over so many pixels are exact enough in float32, and their data stay in the first cache.
inline constexpr int64_t kPixelsOfSum = 256;

// What the gradient of a normalisation y = x * scale + shift needs of each channel.
struct BlockedNormGradient {
  const float *mean, *scale;
  const float* shift;             // if max(y, 0) follows, else null
  const float *constant, *slope;  // gradient: scale * (grad - constant - (x - mean) * slope)
};

template <class T>
struct BlockedTrainingLoopsOf {
  // Of at most kPixelsOfSum pixels: their mean, and the sum of squared distances from it.
  void (*moments)(int64_t block, int64_t pixels, const T* in, float* mean, float* squares);
  void (*sum)(int64_t block, int64_t pixels, const T* in, float* sums);
  // in * scale + shift + added, and then max(x, 0).
  void (*scale_add)(int64_t block, int64_t pixels, const float* scale, const float* shift, bool relu,
                    const T* in, const T* added, T* out);
  // Sums of grad and of grad * (in - mean), over at most kPixelsOfSum pixels.
  void (*norm_sums)(int64_t block, int64_t pixels, const BlockedNormGradient& of, const T* grad, const T* in,
                    float* sums, float* products);
  void (*norm_gradient)(int64_t block, int64_t pixels, const BlockedNormGradient& of, const T* grad,
                        const T* in, T* out);
  // One plane of pixels. Where in its window each maximum lies: counted row by row, 255 for none.
  void (*max_pool)(int64_t block, const BlockedWindows& rows, const BlockedWindows& columns, const T* in,
                   T* out, uint8_t* places);
  void (*max_gradient)(int64_t block, const BlockedWindows& rows, const BlockedWindows& columns,
                       const T* grad, const uint8_t* places, T* out);
  void (*average_gradient)(int64_t block, const BlockedWindows& rows, const BlockedWindows& columns,
                           bool with_pad, const T* grad, T* out);
};

struct BlockedTrainingLoops {
  BlockedTrainingLoopsOf<float> of_float32;
  BlockedTrainingLoopsOf<bfloat16> of_bfloat16;
};

}  // namespace loomix::ops
