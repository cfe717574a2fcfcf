// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace loomix::ops {

// What a device can do at the end of an operator, before its result is written.
struct ClosedOperators {
  // The operator that computes `op` and then max(x, 0), of the same inputs, attributes and outputs; null where there is none, or it
  // would not be faster. What the gradient of `op` needs is not asked for: passes replace nodes where no gradient reads its result.
  const char* (*with_relu)(const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec) = nullptr;
};

// Of a device whose traits say that it has such (engine/device/device_traits.h). The list is in the CUDA module, beside the kernels.
// Throws DeviceError where there is none.
ClosedOperators closed_operators();

}  // namespace loomix::ops
