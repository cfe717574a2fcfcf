// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/shape/shape.h"
#include "ops/table.h"

namespace loomix::ops {

SliceRange slice_range(const Bounds& begin, const Bounds& end, const Bounds& step, int axis, int64_t size,
                       const char* who) {
  const auto given = [axis](const Bounds& bounds) {
    return static_cast<size_t>(axis) < bounds.size() ? bounds[static_cast<size_t>(axis)] : std::nullopt;
  };
  const int64_t stride = given(step).value_or(1);
  LOOMIX_CHECK(stride != 0, ValueError, "[{}] the step along axis {} is 0.", who, axis);
  const int64_t low = stride > 0 ? 0 : -1;  // before the first element, going backwards
  const int64_t high = stride > 0 ? size : size - 1;
  const auto resolve = [&](const std::optional<int64_t>& bound, int64_t by_default) {
    if (!bound) return by_default;
    return std::clamp(*bound < 0 ? *bound + size : *bound, low, high);
  };
  const int64_t first = resolve(given(begin), stride > 0 ? low : high);
  const int64_t last = resolve(given(end), stride > 0 ? high : low);
  const int64_t span = stride > 0 ? last - first : first - last;
  const int64_t pace = stride > 0 ? stride : -stride;
  return {first, stride, span > 0 ? (span + pace - 1) / pace : 0};
}

SliceRange slice_axis_range(const SliceAxisParams& p, int64_t size, const char* who) {
  const int64_t begin = p.begin < 0 ? p.begin + size : p.begin;
  const int64_t end = p.end ? (*p.end < 0 ? *p.end + size : *p.end) : size;
  LOOMIX_CHECK(begin >= 0 && begin <= end && end <= size, ValueError,
               "[{}] begin {} and end {} do not cut axis {} of size {}; expected -{} <= begin <= end <= {}.",
               who, p.begin, p.end ? std::to_string(*p.end) : "None", p.axis, size, size, size);
  return {begin, 1, end - begin};
}

namespace {

void check_bounds(const SliceParams& p, int ndim, const char* who) {
  const size_t most = static_cast<size_t>(ndim);
  LOOMIX_CHECK(p.begin.size() == p.end.size(), ValueError,
               "[{}] begin has {} entries and end {}; expected as many.", who, p.begin.size(), p.end.size());
  LOOMIX_CHECK(p.step.empty() || p.step.size() == p.begin.size(), ValueError,
               "[{}] step has {} entries; expected none or {}.", who, p.step.size(), p.begin.size());
  LOOMIX_CHECK(p.begin.size() <= most, ValueError, "[{}] begin has {} entries; data has {} axes.", who,
               p.begin.size(), ndim);
}

Shape sliced(const SliceParams& p, const Shape& in, const char* who) {
  check_bounds(p, in.ndim(), who);
  Shape out = in;
  for (int axis = 0; axis < static_cast<int>(p.begin.size()); ++axis) {
    if (in[axis] >= 0) out[axis] = slice_range(p.begin, p.end, p.step, axis, in[axis], who).count;
  }
  return out;
}

void slice_shape(const SliceParams& p, ShapeInfer& s) {
  if (s.in(0).ndim_known()) s.set_out(0, sliced(p, s.in(0), s.who()));
}

void slice_assign_shape(const SliceParams& p, ShapeInfer& s) {
  s.tie({0});
  if (s.in(0).ndim_known()) s.set_in(1, sliced(p, s.in(0), s.who()));
}

void slice_assign_scalar_shape(const SliceAssignScalarParams& p, ShapeInfer& s) {
  s.unify_all();
  if (s.in(0).ndim_known()) check_bounds(p, s.in(0).ndim(), s.who());
}

void slice_axis_shape(const SliceAxisParams& p, ShapeInfer& s) {
  if (!s.in(0).ndim_known()) return;
  Shape out = s.in(0);
  const int axis = normalize_axis(p.axis, out.ndim(), s.who());
  if (out[axis] >= 0) out[axis] = slice_axis_range(p, out[axis], s.who()).count;
  s.set_out(0, out);
}

void slice_like_shape(const SliceLikeParams& p, ShapeInfer& s) {
  const Shape& data = s.in(0);
  const Shape& like = s.in(1);
  if (!data.ndim_known() || !like.ndim_known()) return;
  Shape out = data;
  const auto cut = [&](int axis, int from) {
    LOOMIX_CHECK(data[axis] < 0 || like[from] < 0 || like[from] <= data[axis], ShapeError,
                 "[{}] axis {} of data has size {}; it cannot be cut to {}.", s.who(), axis, data[axis],
                 like[from]);
    out[axis] = like[from];
  };
  if (p.axes.ndim() == 0) {
    LOOMIX_CHECK(data.ndim() == like.ndim(), ShapeError,
                 "[{}] data {} and shape_like {} have different axes.", s.who(), data.to_string(),
                 like.to_string());
    for (int axis = 0; axis < data.ndim(); ++axis) cut(axis, axis);
  }
  for (int64_t given : p.axes) {
    const int axis = normalize_axis(given, data.ndim(), s.who());
    LOOMIX_CHECK(axis < like.ndim(), ShapeError, "[{}] shape_like of shape {} has no axis {}.", s.who(),
                 like.to_string(), axis);
    cut(axis, axis);
  }
  s.set_out(0, out);
}

// The gradient puts the part back into zeros of the input's shape, and that operator's own one cuts again.
template <class P>
OpBuilder<P> add(OpTable& table, const char* name, std::initializer_list<std::string_view> inputs,
                 std::initializer_list<GradOperand> cut_again) {
  const std::string backward = std::string("_backward_") + name;
  table.add_hidden<P>(backward, {"grad", "data"}).shape_of(1).shape_only(1).gradient_op(name, cut_again);
  return table.add<P>(name, inputs).gradient_op(backward, {head(0), input(0)});
}

}  // namespace

void register_slices(OpTable& table) {
  add<SliceParams>(table, "slice", {"data"}, {head(0)})
      .doc("A region of data, as Python's slices along each axis.")
      .aliases({"_sparse_slice", "crop"})
      .infer_shape(slice_shape);
  add<SliceAxisParams>(table, "slice_axis", {"data"}, {head(0)})
      .doc("A range of data along one axis.")
      .infer_shape(slice_axis_shape);
  add<SliceLikeParams>(table, "slice_like", {"data", "shape_like"}, {head(0), input(0)})
      .doc("The beginning of data, as long along the axes as another array.")
      .infer_shape(slice_like_shape)
      .type_of(0)
      .shape_only(1);
  table.add<SliceParams>("_slice_assign", {"lhs", "rhs"})
      .doc("lhs, with a region replaced by rhs.")
      .aliases({"_crop_assign"})
      .infer_shape(slice_assign_shape)
      .inplace(0, 0)
      .gradient([](const SliceParams&, GradBuilder& g) {
        const GradValue grad = g.grad_of(0);
        if (g.wants(1)) g.set(1, g.call1("slice", {grad}, g.attrs()));
        if (!g.wants(0)) return;
        g.set(0, g.call1("_slice_assign", {grad, g.call1("zeros_like", {g.in(1)})}, g.attrs()));
      });
  table.add<SliceAssignScalarParams>("_slice_assign_scalar", {"data"})
      .doc("data, with a region filled with a number.")
      .aliases({"_crop_assign_scalar"})
      .infer_shape(slice_assign_scalar_shape)
      .inplace(0, 0)
      .gradient([](const SliceAssignScalarParams& p, GradBuilder& g) {
        const auto text = [](const Bounds& bounds) {
          std::string list = "(";
          for (const auto& bound : bounds) list += (bound ? std::to_string(*bound) : "None") + ",";
          return list + ")";
        };
        g.set(0,
              g.call1(
                  "_slice_assign_scalar", {g.grad_of(0)},
                  {{"scalar", "0"}, {"begin", text(p.begin)}, {"end", text(p.end)}, {"step", text(p.step)}}));
      });
}

}  // namespace loomix::ops
