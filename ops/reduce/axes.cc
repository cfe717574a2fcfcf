// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/reduce/reduce.h"
#include "ops/shape_rule.h"

namespace loomix::ops {
namespace {

AxisSet reduced_axes(const std::optional<Shape>& axis, bool exclude, int ndim, const char* who) {
  AxisSet axes;
  if (!axis || axis->ndim() == 0) {
    for (int i = 0; i < ndim; ++i) axes.set(i);
    return axes;
  }
  for (int64_t given : *axis) {
    const int i = normalize_axis(given, ndim, who);
    LOOMIX_CHECK(!axes[i], ValueError, "[{}] axis {} is given twice in {}; each axis may be reduced once.",
                 who, given, tuple_text(*axis));
    axes.set(i);
  }
  if (exclude) {
    for (int i = 0; i < ndim; ++i) axes.flip(i);
  }
  return axes;
}

}  // namespace

AxisSet axes_of(const ReduceParams& p, const Shape& data, const char* who) {
  return reduced_axes(p.axis, p.exclude, data.ndim(), who);
}
AxisSet axes_of(const NormParams& p, const Shape& data, const char* who) {
  return reduced_axes(p.axis, false, data.ndim(), who);
}
AxisSet axes_of(const MomentsParams& p, const Shape& data, const char* who) {
  return reduced_axes(p.axes, false, data.ndim(), who);
}
AxisSet axes_of(const ArgParams& p, const Shape& data, const char* who) {
  return reduced_axes(p.axis ? std::optional(Shape{*p.axis}) : std::nullopt, false, data.ndim(), who);
}

AxisSet repeated_axes(const Shape& x, const Shape& y) {
  AxisSet axes;
  const int extra = x.ndim() - y.ndim();
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if (axis < extra || y[axis - extra] != x[axis]) axes.set(static_cast<size_t>(axis));
  }
  return axes;
}

Shape reduced_shape(const Shape& shape, const AxisSet& axes, bool keepdims) {
  Shape out;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (!axes[i]) out.push_back(shape[i]);
    else if (keepdims) out.push_back(1);
  }
  // MXNet has no scalars, unless NumPy's rule of shapes holds.
  if (out.ndim() == 0 && !keepdims && !numpy_shapes()) out.push_back(1);
  return out;
}

}  // namespace loomix::ops
