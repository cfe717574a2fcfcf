// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/table.h"

namespace loomix::ops {

inline constexpr const char* kNoPackedForm = "this operator has no packed form";

// Inputs from `in` on, and outputs from `out` on, are ranges: one float32 each.
void range_shapes(ShapeInfer& s, int in, int out);
// The two inputs from `low` on are a range of all rows of an array, as it is without other knowledge, or one for each.
void row_range_shape(ShapeInfer& s, int low, int64_t rows);
void range_types(TypeInfer& t, int in, int out);

}  // namespace loomix::ops
