// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "ndarray/ndarray.h"
#include "ops/op.h"
#include "symbol/executor/runtime.h"

namespace loomix {

// Whether the operator updates only the rows that its row_sparse gradient has: weight, gradient and states are `in`.
bool updates_rows(const ops::OpDef& op, const AttrsBase& attrs, std::span<const NDArray* const> in);

// Pushes that update: weight `in[0]` and the states change in place, in the rows that `in[1]`, a row_sparse gradient, has. Weight
// and states are dense, of any shape with as many elements, or row_sparse; rows that they do not have are zero. Hosts only.
void update_rows(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                 std::span<const NDArray* const> in, int16_t priority);

}  // namespace loomix
