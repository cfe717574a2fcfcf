// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/shape.h"

namespace loomix::linalg {

// One of the parts that an axis is cut into; the first ones have one element more where it does not go up.
struct Part {
  int64_t begin = 0;
  int64_t size = 0;
};
inline Part part_of(int64_t whole, int parts, int i) {
  const int64_t each = whole / parts, more = whole % parts;
  return {each * i + (i < more ? i : more), each + (i < more ? 1 : 0)};
}

// A box in an array: where its first corner is along two axes; along all others it begins at zero.
struct Corner {
  int axis = 0;
  int64_t begin = 0;
  int second_axis = 0;
  int64_t second_begin = 0;
};

// Copies elements of `bytes` each. Strides are those of row-major arrays of these shapes.
void copy_box(const Shape& box, size_t bytes, const std::byte* from, const Shape& from_shape,
              const Corner& from_corner, std::byte* to, const Shape& to_shape, const Corner& to_corner);

}  // namespace loomix::linalg
