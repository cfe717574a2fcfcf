// SPDX-License-Identifier: Apache-2.0
#include "base/shape.h"

#include "base/error.h"

namespace loomix {

void Shape::resize(int ndim) {
  LOOMIX_INTERNAL_CHECK(ndim >= 0);
  LOOMIX_CHECK(ndim <= kMaxDims, ShapeError, "[shape] {} axes are too many; at most {} are allowed.", ndim,
               kMaxDims);
  if (ndim > kInlineDims && !heap_) {
    heap_ = std::make_unique<int64_t[]>(kMaxDims);
    std::copy_n(inline_, kInlineDims, heap_.get());
  }
  const int old = std::max(ndim_, 0);
  if (ndim > old) std::fill(data() + old, data() + ndim, 0);
  ndim_ = ndim;
}

std::string Shape::to_string() const {
  if (!ndim_known()) return "None";
  std::string text = "(";
  for (int axis = 0; axis < ndim_; ++axis) {
    if (axis > 0) text += ", ";
    text += data()[axis] < 0 ? "?" : std::to_string(data()[axis]);
  }
  return text + (ndim_ == 1 ? ",)" : ")");
}

bool compatible(const Shape& a, const Shape& b) noexcept {
  if (!a.ndim_known() || !b.ndim_known()) return true;
  return a.ndim() == b.ndim() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](int64_t x, int64_t y) { return x == y || x < 0 || y < 0; });
}

Shape broadcast(const Shape& a, const Shape& b, const char* who) {
  if (!a.ndim_known() || !b.ndim_known()) return Shape::unknown();
  Shape result = Shape::filled(std::max(a.ndim(), b.ndim()), 1);
  for (int back = 1; back <= result.ndim(); ++back) {
    const int64_t x = back <= a.ndim() ? a[a.ndim() - back] : 1;
    const int64_t y = back <= b.ndim() ? b[b.ndim() - back] : 1;
    int64_t& size = result[result.ndim() - back];
    if (x == 1) size = y;
    else if (y == 1 || x == y) size = x;
    else if (x < 0) size = y;  // the unknown size can only be 1 or this one
    else if (y < 0) size = x;
    else {
      throw ShapeError(
          fmt::format("[{}] shapes {} and {} cannot be broadcast: sizes {} and {} on axis {} differ; they "
                      "must be equal or 1.",
                      who, a.to_string(), b.to_string(), x, y, -back));
    }
  }
  return result;
}

int normalize_axis(int64_t axis, int ndim, const char* who) {
  LOOMIX_CHECK(axis >= -ndim && axis < ndim, ValueError,
               "[{}] axis {} is out of range for an array of {} dimensions; expected {} to {}.", who, axis,
               ndim, -ndim, ndim - 1);
  return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

}  // namespace loomix
