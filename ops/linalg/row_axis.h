// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/shape.h"

namespace loomix::ops {

// Matrices whose rows lie along any axis but the last one:
//   (outer, rows, inner, columns): the rows of one matrix are inner * columns elements apart.
struct RowAxis {
  int64_t outer, rows, inner, columns;
  RowAxis(const Shape& shape, int axis) {
    const int ndim = shape.ndim();
    if (axis < 0) axis += ndim;
    outer = shape.size_between(0, axis);
    rows = shape[axis];
    inner = shape.size_between(axis + 1, ndim - 1);
    columns = shape[ndim - 1];
  }
  int64_t count() const { return outer * inner; }
  int64_t leading() const { return inner * columns; }
  int64_t offset(int64_t item) const { return item / inner * rows * leading() + item % inner * columns; }
};

}  // namespace loomix::ops
