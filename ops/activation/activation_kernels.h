// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/activation/activation.h"
#include "ops/activation/leaky_relu.h"

// The loops that are compiled once per instruction set; float32 only.
namespace loomix::ops {

struct ActivationKernels {
  void (*forward)(ActType type, const float* x, float* y, int64_t count);
  void (*backward)(ActType type, const float* grad, const float* y, float* out, int64_t count);
  // gelu, elu and selu; `slope` is elu's.
  void (*leaky_forward)(LeakyType type, float slope, const float* x, float* y, int64_t count);
  void (*leaky_backward)(LeakyType type, float slope, const float* grad, const float* x, float* out,
                         int64_t count);
};

namespace isa_base {
extern const ActivationKernels activation_kernels;
}
namespace isa_v3 {
extern const ActivationKernels activation_kernels;
}
namespace isa_v4 {
extern const ActivationKernels activation_kernels;
}

}  // namespace loomix::ops
