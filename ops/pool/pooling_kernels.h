// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The loops that are compiled once per instruction set: 2x2 maxima with stride 2 of one plane. The plane has `width`
// columns; whole windows only, so an odd last row or column is not looked at.
namespace loomix::ops {

struct PoolKernels {
  void (*max2)(int64_t out_height, int64_t out_width, int64_t width, const float* data, float* out);
  // Writes all positions of the windows; the first maximum of a window takes the gradient.
  void (*max2_backward)(int64_t out_height, int64_t out_width, int64_t width, const float* grad,
                        const float* data, float* out);
};

}  // namespace loomix::ops
