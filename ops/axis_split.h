// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/shape.h"

namespace loomix::ops {

// An array seen as (outer, size, inner) about one axis: lines of `size` elements that lie `inner` apart.
struct AxisSplit {
  int64_t outer = 1, size = 1, inner = 1;

  AxisSplit(const Shape& shape, int axis)
      : outer(shape.size_between(0, axis)),
        size(shape[axis]),
        inner(shape.size_between(axis + 1, shape.ndim())) {}
  // The axis may be negative; without one the whole array is one line.
  AxisSplit(const Shape& shape, const std::optional<int>& axis, const char* who) : size(shape.size()) {
    if (axis) *this = AxisSplit(shape, normalize_axis(*axis, shape.ndim(), who));
  }
  int64_t lines() const { return outer * inner; }
  // Where a line starts, of lines that have `length` elements.
  int64_t start(int64_t line, int64_t length) const { return line / inner * length * inner + line % inner; }
};

}  // namespace loomix::ops
