// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The loops that are compiled once per instruction set: `count` rows of `size` consecutive floats, or `count` columns side
// by side, up to kSoftmaxColumns, whose floats are `stride` apart.
namespace loomix::ops {

inline constexpr int64_t kSoftmaxColumns = 256;

struct SoftmaxKernels {
  void (*forward)(bool log, float scale, int64_t count, int64_t size, const float* x, float* y);
  void (*backward)(bool log, float scale, int64_t count, int64_t size, const float* grad, const float* y,
                   float* out);
  void (*forward_columns)(bool log, float scale, int64_t count, int64_t size, int64_t stride, const float* x,
                          float* y);
  void (*backward_columns)(bool log, float scale, int64_t count, int64_t size, int64_t stride,
                           const float* grad, const float* y, float* out);
};

}  // namespace loomix::ops
