// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/plans.h"

#include <algorithm>
#include <utility>

#include "base/inline_vector.h"

namespace loomix::ops {
namespace {

// Output axis i is input axis axes[i].
StridedCopy permutation(const Shape& in, std::span<const int> axes) {
  const Strides from(in);
  Shape out;
  for (int axis : axes) out.push_back(in[axis]);
  const Strides to(out);
  StridedCopy plan;
  for (int i = 0; i < out.ndim(); ++i) plan.add_axis(out[i], to[i], from[axes[static_cast<size_t>(i)]]);
  return plan;
}

}  // namespace

StridedCopy transpose_plan(const TransposeParams& p, const Shape& in) {
  const int ndim = in.ndim();
  InlineVector<int, Shape::kMaxDims> axes;
  for (int i = 0; i < ndim; ++i) {
    axes.push_back(p.axes.ndim() == 0 ? ndim - 1 - i : normalize_axis(p.axes[i], ndim, "transpose"));
  }
  return permutation(in, axes);
}

StridedCopy swap_axis_plan(const SwapAxisParams& p, const Shape& in) {
  const int ndim = in.ndim();
  InlineVector<int, Shape::kMaxDims> axes;
  for (int i = 0; i < ndim; ++i) axes.push_back(i);
  std::swap(axes[static_cast<size_t>(normalize_axis(p.dim1, ndim, "SwapAxis"))],
            axes[static_cast<size_t>(normalize_axis(p.dim2, ndim, "SwapAxis"))]);
  return permutation(in, axes);
}

StridedCopy reverse_plan(const ReverseParams& p, const Shape& in) {
  const Strides strides(in);
  StridedCopy plan;
  for (int axis = 0; axis < in.ndim(); ++axis) plan.add_axis(in[axis], strides[axis], strides[axis]);
  for (int64_t given : p.axis) {
    const int axis = normalize_axis(given, in.ndim(), "reverse");
    plan.from_offset += (in[axis] - 1) * plan.from_stride[axis];
    plan.from_stride[axis] = -plan.from_stride[axis];
  }
  return plan;
}

Shape tiled(const TileParams& p, const Shape& x) {
  const int ndim = std::max(x.ndim(), p.reps.ndim());
  Shape shape;
  for (int i = ndim; i >= 1; --i) {
    shape.push_back(i <= p.reps.ndim() ? p.reps[p.reps.ndim() - i] : 1);
    shape.push_back(i <= x.ndim() ? x[x.ndim() - i] : 1);
  }
  return shape;
}

AxisSet tiled_axes(const TileParams& p, const Shape& x) {
  AxisSet axes;
  for (int axis = 0; axis < 2 * std::max(x.ndim(), p.reps.ndim()); axis += 2) {
    axes.set(static_cast<size_t>(axis));
  }
  return axes;
}

StridedCopy tile_plan(const TileParams& p, const Shape& in) {
  const Shape shape = tiled(p, in);
  const Strides to(shape);
  StridedCopy plan;
  int64_t stride = in.size();
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const bool moves = axis % 2 == 1;
    if (moves && shape[axis] > 0) stride /= shape[axis];
    plan.add_axis(shape[axis], to[axis], moves ? stride : 0);
  }
  if (plan.ndim == 0) plan.add_axis(1, 1, 1);
  return plan;
}

Shape repeated(const RepeatParams& p, const Shape& x) {
  if (!p.axis) return {x.size(), p.repeats, 1};
  const int axis = normalize_axis(*p.axis, x.ndim(), "repeat");
  return {x.size_between(0, axis + 1), p.repeats, x.size_between(axis + 1, x.ndim())};
}

StridedCopy repeat_plan(const RepeatParams& p, const Shape& in) {
  const Shape shape = repeated(p, in);
  StridedCopy plan;
  plan.add_axis(shape[0], shape[1] * shape[2], shape[2]);
  plan.add_axis(shape[1], shape[2], 0);
  plan.add_axis(shape[2], 1, 1);
  return plan;
}

StridedCopy depth_to_space_plan(const BlockParams& p, const Shape& in) {
  const int64_t b = p.block_size;
  const int axes[] = {0, 3, 4, 1, 5, 2};
  return permutation({in[0], b, b, in[1] / (b * b), in[2], in[3]}, axes);
}

StridedCopy space_to_depth_plan(const BlockParams& p, const Shape& in) {
  const int64_t b = p.block_size;
  const int axes[] = {0, 3, 5, 1, 2, 4};
  return permutation({in[0], in[1], in[2] / b, b, in[3] / b, b}, axes);
}

StridedCopy diagonal_plan(const DiagParams& p, const Shape& matrix, bool reads_matrix) {
  const Strides strides(matrix);
  const int rows = normalize_axis(p.axis1, matrix.ndim(), "diag");
  const int columns = normalize_axis(p.axis2, matrix.ndim(), "diag");
  const Diagonal diagonal = diagonal_of(matrix[rows], matrix[columns], p.k);
  Shape line;
  for (int axis = 0; axis < matrix.ndim(); ++axis) {
    if (axis != rows && axis != columns) line.push_back(matrix[axis]);
  }
  line.push_back(diagonal.count);
  const Strides dense(line);
  StridedCopy plan;
  const auto add = [&](int64_t size, int64_t in_line, int64_t in_matrix) {
    plan.add_axis(size, reads_matrix ? in_line : in_matrix, reads_matrix ? in_matrix : in_line);
  };
  for (int axis = 0, at = 0; axis < matrix.ndim(); ++axis) {
    if (axis != rows && axis != columns) add(matrix[axis], dense[at++], strides[axis]);
  }
  add(diagonal.count, 1, strides[rows] + strides[columns]);
  (reads_matrix ? plan.from_offset : plan.to_offset) =
      diagonal.row * strides[rows] + diagonal.column * strides[columns];
  return plan;
}

StridedCopy unpad_plan(const PadParams& p, const Shape& padded, const Shape& inner) {
  const Strides to(inner), from(padded);
  StridedCopy plan;
  for (int axis = 0; axis < inner.ndim(); ++axis) {
    plan.add_axis(inner[axis], to[axis], from[axis]);
    plan.from_offset += p.pad_width[2 * axis] * from[axis];
  }
  return plan;
}

Region::Region(const Shape& whole) : ndim(whole.ndim()) {
  const Strides strides(whole);
  for (int axis = 0; axis < ndim; ++axis) {
    size[axis] = whole[axis];
    stride[axis] = strides[axis];
  }
}

void Region::cut(int axis, const SliceRange& range) {
  offset += range.begin * stride[axis];
  stride[axis] *= range.step;
  size[axis] = range.count;
}

StridedCopy Region::reading() const {
  StridedCopy plan = writing();
  std::swap(plan.to_stride, plan.from_stride);
  std::swap(plan.to_offset, plan.from_offset);
  return plan;
}

StridedCopy Region::writing() const {
  Shape shape;
  for (int axis = 0; axis < ndim; ++axis) shape.push_back(size[axis]);
  const Strides dense(shape);
  StridedCopy plan;
  plan.to_offset = offset;
  for (int axis = 0; axis < ndim; ++axis) plan.add_axis(size[axis], stride[axis], dense[axis]);
  return plan;
}

StridedCopy Region::filling() const {
  StridedCopy plan;
  plan.to_offset = offset;
  for (int axis = 0; axis < ndim; ++axis) plan.add_axis(size[axis], stride[axis], 0);
  return plan;
}

Region region_of(const SliceParams& p, const Shape& whole) {
  Region region(whole);
  for (int axis = 0; axis < static_cast<int>(p.begin.size()); ++axis) {
    region.cut(axis, slice_range(p.begin, p.end, p.step, axis, whole[axis], "slice"));
  }
  return region;
}

Region region_of(const SliceAxisParams& p, const Shape& whole) {
  Region region(whole);
  const int axis = normalize_axis(p.axis, whole.ndim(), "slice_axis");
  region.cut(axis, slice_axis_range(p, whole[axis], "slice_axis"));
  return region;
}

Region region_of(const Shape& part, const Shape& whole) {
  Region region(whole);
  for (int axis = 0; axis < whole.ndim(); ++axis) region.cut(axis, {0, 1, part[axis]});
  return region;
}

}  // namespace loomix::ops
