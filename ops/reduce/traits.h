// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ops/reduce/reduce.h"

// What passes need to know of this family.
namespace loomix::ops {

// The one output of an operator is its first input with some axes folded; of others only the shape is used.
struct Folding {
  Reduction op{};
  Finish finish = Finish::none;
  AxisSet axes;
};
// Nothing for other operators, and where no axis has more than one element.
std::optional<Folding> folding_of(const OpDef& op, const AttrsBase& attrs, const Shape& in, const Shape& out);

// The one output of an operator is its first input, repeated; of others only the shape is used.
struct Repeat {
  Shape seen;           // of the input: broadcasts to the output by the usual rules
  int64_t divisor = 1;  // of each element
};
std::optional<Repeat> repeat_of(const OpDef& op, const AttrsBase& attrs, const Shape& in, const Shape& out);

}  // namespace loomix::ops
