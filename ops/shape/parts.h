// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "ops/op.h"

// What memory planning needs to know of joining and cutting.
namespace loomix::ops {

// Whether the output holds the elements of its inputs, one whole input after the other.
bool joins_in_order(const OpDef& op, const AttrsBase& attrs, const Shape& out);

// Where the elements of output i begin among those of input 0, if they lie there in one piece; other inputs are not read.
std::optional<int64_t> begin_of_part(const OpDef& op, const AttrsBase& attrs, const Shape& in,
                                     std::span<const Shape> out, size_t i);

}  // namespace loomix::ops
