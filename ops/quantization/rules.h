// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/table.h"

namespace loomix::ops {

// Inputs from `in` on, and outputs from `out` on, are ranges: one float32 each.
void range_shapes(ShapeInfer& s, int in, int out);
void range_types(TypeInfer& t, int in, int out);

}  // namespace loomix::ops
