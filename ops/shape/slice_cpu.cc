// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/apply.h"
#include "ops/shape/shape.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// The region's index space: strides within the whole array, and those of the region as an array of its own.
struct Region {
  int ndim = 0;
  int64_t size[Shape::kMaxDims];
  int64_t stride[Shape::kMaxDims];
  int64_t offset = 0;

  explicit Region(const Shape& whole) : ndim(whole.ndim()) {
    const Strides strides(whole);
    for (int axis = 0; axis < ndim; ++axis) {
      size[axis] = whole[axis];
      stride[axis] = strides[axis];
    }
  }
  void cut(int axis, const SliceRange& range) {
    offset += range.begin * stride[axis];
    stride[axis] *= range.step;
    size[axis] = range.count;
  }
};

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

// A prefix along every axis.
Region region_of(const Shape& part, const Shape& whole) {
  Region region(whole);
  for (int axis = 0; axis < whole.ndim(); ++axis) region.cut(axis, {0, 1, part[axis]});
  return region;
}

Strides region_strides(const Region& region) {
  Shape shape;
  for (int axis = 0; axis < region.ndim; ++axis) shape.push_back(region.size[axis]);
  return Strides(shape);
}

void read_region(const Region& region, const KernelArgs& args) {
  const Strides dense = region_strides(region);
  StridedCopy plan;
  plan.from_offset = region.offset;
  for (int axis = 0; axis < region.ndim; ++axis)
    plan.add_axis(region.size[axis], dense[axis], region.stride[axis]);
  copy_strided(plan, args.in[0], args.out[0], args);
}

void write_region(const Region& region, const TensorView& part, const KernelArgs& args) {
  const Strides dense = region_strides(region);
  StridedCopy plan;
  plan.to_offset = region.offset;
  for (int axis = 0; axis < region.ndim; ++axis)
    plan.add_axis(region.size[axis], region.stride[axis], dense[axis]);
  copy_strided(plan, part, args.out[0], args);
}

void scatter(const Region& region, const KernelArgs& args) {
  apply_fill(0, args.out[0], args);
  write_region(region, args.in[0], args);
}

template <class P>
void slice_cpu(const P& p, const KernelArgs& args) {
  read_region(region_of(p, args.in[0].shape), args);
}

template <class P>
void backward_slice_cpu(const P& p, const KernelArgs& args) {
  scatter(region_of(p, args.out[0].shape), args);
}

void slice_like_cpu(const KernelArgs& args) {
  read_region(region_of(args.out[0].shape, args.in[0].shape), args);
}

void backward_slice_like_cpu(const KernelArgs& args) {
  scatter(region_of(args.in[0].shape, args.out[0].shape), args);
}

void slice_assign_cpu(const SliceParams& p, const KernelArgs& args) {
  apply_convert(args.in[0], args.out[0], args);
  write_region(region_of(p, args.out[0].shape), args.in[1], args);
}

void slice_assign_scalar_cpu(const SliceAssignScalarParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  apply_convert(args.in[0], y, args);
  Number number(p.scalar, y.dtype);
  const Region region = region_of(p, y.shape);
  StridedCopy plan;
  plan.to_offset = region.offset;
  for (int axis = 0; axis < region.ndim; ++axis) plan.add_axis(region.size[axis], region.stride[axis], 0);
  copy_strided(plan, TensorView{number.bytes, y.dtype, Shape{}}, y, args);
}

}  // namespace

void kernels_shape_slice(OpTable& table) {
  table.kernel<slice_cpu<SliceParams>>("slice", "slice_cpu");
  table.kernel<slice_cpu<SliceAxisParams>>("slice_axis", "slice_cpu");
  table.kernel<slice_like_cpu>("slice_like", "slice_cpu");
  table.kernel<slice_assign_cpu>("_slice_assign", "slice_assign_cpu");
  table.kernel<slice_assign_scalar_cpu>("_slice_assign_scalar", "slice_assign_cpu");
}

void gradients_shape_slice(OpTable& table) {
  table.kernel<backward_slice_cpu<SliceParams>>("_backward_slice", "scatter_cpu");
  table.kernel<backward_slice_cpu<SliceAxisParams>>("_backward_slice_axis", "scatter_cpu");
  table.kernel<backward_slice_like_cpu>("_backward_slice_like", "scatter_cpu");
}

}  // namespace loomix::ops
