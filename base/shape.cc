// SPDX-License-Identifier: Apache-2.0
#include "base/shape.h"

#include "base/error.h"

namespace loomix {

void Shape::resize(int ndim) {
  LOOMIX_CHECK(ndim <= kMaxDims, ShapeError, "[shape] an array can have at most {} axes; got {}.", kMaxDims, ndim);
  if (ndim > kInlineDims && !heap_) {
    auto heap = std::make_unique<int64_t[]>(kMaxDims);
    std::copy(begin(), end(), heap.get());
    heap_ = std::move(heap);
  }
  const int kept = std::max(ndim_, 0);
  ndim_ = ndim;
  if (ndim > kept) std::fill(data() + kept, data() + ndim, 0);
}

std::string Shape::to_string() const {
  if (!ndim_known()) return "None";
  std::string text = "(";
  for (int axis = 0; axis < ndim_; ++axis) {
    if (axis > 0) text += ", ";
    const int64_t size = (*this)[axis];
    text += size < 0 ? "?" : std::to_string(size);
  }
  return text + (ndim_ == 1 ? ",)" : ")");
}

bool compatible(const Shape& a, const Shape& b) noexcept {
  if (!a.ndim_known() || !b.ndim_known()) return true;
  return a.ndim() == b.ndim() &&
         std::equal(a.begin(), a.end(), b.begin(), [](int64_t x, int64_t y) { return x == y || x < 0 || y < 0; });
}

Shape broadcast(const Shape& a, const Shape& b, const char* who) {
  const Shape& longer = a.ndim() >= b.ndim() ? a : b;
  const Shape& shorter = a.ndim() >= b.ndim() ? b : a;
  Shape result = longer;
  const int offset = longer.ndim() - shorter.ndim();
  for (int axis = 0; axis < shorter.ndim(); ++axis) {
    int64_t& size = result[axis + offset];
    const int64_t other = shorter[axis];
    if (size == other || other == 1) continue;
    LOOMIX_CHECK(size == 1, ShapeError,
                 "[{}] shapes {} and {} do not broadcast; sizes must be equal or 1, counted from the last axis.", who,
                 a.to_string(), b.to_string());
    size = other;
  }
  return result;
}

int normalize_axis(int64_t axis, int ndim, const char* who) {
  LOOMIX_CHECK(axis >= -ndim && axis < ndim, ValueError,
               "[{}] axis {} is out of range for {} axes; expected {} to {}.", who, axis, ndim, -ndim, ndim - 1);
  return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

}  // namespace loomix
