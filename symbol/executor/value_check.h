// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ops/op.h"

// What the mode of debugging behind Runtime::check_values looks for: values that no network wants.
namespace loomix {

// Whether an input holds infinity; asked before a kernel may overwrite it. Throws ValueError if one holds NaN, which came
// from outside: each operator that makes NaN fails in this mode.
bool check_inputs(const ops::OpDef& op, const AttrsBase& attrs, std::span<const TensorView> in);

// Throws IndexError for a class number that the operator would clip or pass over.
void check_labels(const ops::OpDef& op, const AttrsBase& attrs, std::span<const TensorView> in);

// Throws ValueError if an output holds NaN, or infinity that no input had.
void check_outputs(const ops::OpDef& op, const AttrsBase& attrs, bool infinite_inputs,
                   std::span<const TensorView> out, std::span<const ops::Req> req);

}  // namespace loomix
