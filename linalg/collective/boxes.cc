// SPDX-License-Identifier: Apache-2.0
#include "linalg/collective/boxes.h"

#include <cstring>

#include "base/inline_vector.h"

namespace loomix::linalg {
namespace {

struct Side {
  InlineVector<int64_t, 6> strides;  // in bytes
  int64_t offset = 0;

  Side(const Shape& shape, const Corner& corner, size_t bytes) : strides(static_cast<size_t>(shape.ndim())) {
    int64_t stride = static_cast<int64_t>(bytes);
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      strides[static_cast<size_t>(axis)] = stride;
      if (axis == corner.axis) offset += corner.begin * stride;
      if (axis == corner.second_axis) offset += corner.second_begin * stride;
      stride *= shape[axis];
    }
  }
};

struct Copying {
  const Shape& box;
  const Side &from, &to;
  int axes;        // that are walked; what is behind them lies in one piece in both arrays
  size_t stretch;  // bytes of such a piece

  void walk(int axis, const std::byte* source, std::byte* target) const {
    if (axis == axes) {
      std::memcpy(target, source, stretch);
      return;
    }
    const auto at = static_cast<size_t>(axis);
    for (int64_t i = 0; i < box[axis]; ++i)
      walk(axis + 1, source + i * from.strides[at], target + i * to.strides[at]);
  }
};

}  // namespace

void copy_box(const Shape& box, size_t bytes, const std::byte* from, const Shape& from_shape,
              const Corner& from_corner, std::byte* to, const Shape& to_shape, const Corner& to_corner) {
  if (box.size() == 0) return;
  int axes = box.ndim();
  auto stretch = static_cast<int64_t>(bytes);
  while (axes > 0) {
    const int axis = axes - 1;
    stretch *= box[axis];
    --axes;
    if (box[axis] != from_shape[axis] || box[axis] != to_shape[axis]) break;
  }
  const Side source(from_shape, from_corner, bytes), target(to_shape, to_corner, bytes);
  Copying{box, source, target, axes, static_cast<size_t>(stretch)}.walk(0, from + source.offset,
                                                                        to + target.offset);
}

}  // namespace loomix::linalg
