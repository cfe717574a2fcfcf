// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Loops over images in blocks of channels, compiled once per instruction set. A pixel is the floats of a block.
namespace loomix::ops {

struct BlockedWindows {  // of one axis
  int64_t in, out, kernel, stride, pad;
};

struct BlockedLoops {
  // One plane of pixels.
  void (*max_pool)(int64_t block, const BlockedWindows& rows, const BlockedWindows& columns, const float* in,
                   float* out);
  // `with_pad`: pixels that were added count as zeros.
  void (*average_pool)(int64_t block, const BlockedWindows& rows, const BlockedWindows& columns,
                       bool with_pad, const float* in, float* out);
  // in * scale + shift, and max(x, 0) of that.
  void (*scale)(int64_t block, int64_t pixels, const float* scale, const float* shift, bool relu,
                const float* in, float* out);
  // Between a block's channels, each of `pixels` floats, and its pixels; of the last block some channels may be missing.
  void (*to_pixels)(int64_t block, int64_t channels, int64_t pixels, const float* in, float* out);
  void (*to_channels)(int64_t block, int64_t channels, int64_t pixels, const float* in, float* out);
};

}  // namespace loomix::ops
