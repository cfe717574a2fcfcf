// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The loops that are compiled once per instruction set: `count` rows of `size` consecutive floats.
namespace loomix::ops {

struct SoftmaxKernels {
  void (*forward)(bool log, float scale, int64_t count, int64_t size, const float* x, float* y);
  void (*backward)(bool log, float scale, int64_t count, int64_t size, const float* grad, const float* y,
                   float* out);
};

namespace isa_base {
extern const SoftmaxKernels softmax_kernels;
}
namespace isa_v3 {
extern const SoftmaxKernels softmax_kernels;
}
namespace isa_v4 {
extern const SoftmaxKernels softmax_kernels;
}

}  // namespace loomix::ops
