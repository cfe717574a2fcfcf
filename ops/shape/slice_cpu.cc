// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/apply.h"
#include "ops/shape/plans.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void scatter(const Region& region, const KernelArgs& args) {
  apply_fill(0, args.out[0], args);
  copy_strided(region.writing(), args.in[0], args.out[0], args);
}

template <class P>
void slice_cpu(const P& p, const KernelArgs& args) {
  copy_strided(region_of(p, args.in[0].shape).reading(), args.in[0], args.out[0], args);
}

template <class P>
void backward_slice_cpu(const P& p, const KernelArgs& args) {
  scatter(region_of(p, args.out[0].shape), args);
}

void slice_like_cpu(const KernelArgs& args) {
  copy_strided(region_of(args.out[0].shape, args.in[0].shape).reading(), args.in[0], args.out[0], args);
}

void backward_slice_like_cpu(const KernelArgs& args) {
  scatter(region_of(args.in[0].shape, args.out[0].shape), args);
}

void slice_assign_cpu(const SliceParams& p, const KernelArgs& args) {
  apply_convert(args.in[0], args.out[0], args);
  copy_strided(region_of(p, args.out[0].shape).writing(), args.in[1], args.out[0], args);
}

void slice_assign_scalar_cpu(const SliceAssignScalarParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  apply_convert(args.in[0], y, args);
  Number number(p.scalar, y.dtype);
  copy_strided(region_of(p, y.shape).filling(), TensorView{number.bytes, y.dtype, Shape{}}, y, args);
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
