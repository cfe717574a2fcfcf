// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/shape.h"
#include "ops/kernel.h"

namespace loomix::ops {

// Moves elements between two strided layouts: for every index, to[index . to_stride] = from[index . from_stride].
// Strides and offsets count elements; a stride may be 0 in `from` and negative in both.
struct StridedCopy {
  int ndim = 0;
  int64_t size[Shape::kMaxDims];
  int64_t to_stride[Shape::kMaxDims];
  int64_t from_stride[Shape::kMaxDims];
  int64_t to_offset = 0;
  int64_t from_offset = 0;

  void add_axis(int64_t axis_size, int64_t to, int64_t from);
  // Drops axes of size 1, joins neighbours that are contiguous in both layouts, and puts the axis that is contiguous in `to`
  // innermost, that of `from` beside it.
  void arrange();
  // It is arranged, and the two innermost axes swap their places.
  bool transposes() const;
  // Of the first `axes` axes.
  int64_t items(int axes) const;
};

// Elements of one size, whatever their type. Contiguous runs are copied at once, transpositions in square tiles.
void copy_strided(StridedCopy plan, const TensorView& from, const TensorView& to, const KernelArgs& args);

// The strides of a contiguous array, in elements.
struct Strides {
  int64_t axis[Shape::kMaxDims];
  explicit Strides(const Shape& shape) {
    int64_t stride = 1;
    for (int i = shape.ndim() - 1; i >= 0; --i) {
      axis[i] = stride;
      stride *= shape[i];
    }
  }
  int64_t operator[](int i) const { return axis[i]; }
};

}  // namespace loomix::ops
