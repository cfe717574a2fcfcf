// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/fill.h"
#include "ops/cuda/strided.h"
#include "ops/families_cuda.h"
#include "ops/shape/plans.h"

namespace loomix::ops {
namespace {

using namespace cuda;

void read_region(const Region& region, const KernelArgs& args) {
  cuda::copy_strided(region.reading(), args.in[0], args.out[0], stream_of(args));
}

void scatter(const Region& region, const KernelArgs& args) {
  fill(args.out[0], 0, stream_of(args));
  cuda::copy_strided(region.writing(), args.in[0], args.out[0], stream_of(args));
}

template <class P>
void slice_cuda(const P& p, const KernelArgs& args) {
  read_region(region_of(p, args.in[0].shape), args);
}

template <class P>
void backward_slice_cuda(const P& p, const KernelArgs& args) {
  scatter(region_of(p, args.out[0].shape), args);
}

void slice_like_cuda(const KernelArgs& args) {
  read_region(region_of(args.out[0].shape, args.in[0].shape), args);
}

void backward_slice_like_cuda(const KernelArgs& args) {
  scatter(region_of(args.in[0].shape, args.out[0].shape), args);
}

void slice_assign_cuda(const SliceParams& p, const KernelArgs& args) {
  convert_array(args.in[0], args.out[0], stream_of(args));
  cuda::copy_strided(region_of(p, args.out[0].shape).writing(), args.in[1], args.out[0], stream_of(args));
}

void slice_assign_scalar_cuda(const SliceAssignScalarParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  convert_array(args.in[0], y, stream_of(args));
  fill_strided(region_of(p, y.shape).filling(), Number(p.scalar, y.dtype), y, stream_of(args));
}

}  // namespace

void kernels_shape_slice_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<slice_cuda<SliceParams>>("slice", "slice_cuda", gpu);
  list.kernel<slice_cuda<SliceAxisParams>>("slice_axis", "slice_cuda", gpu);
  list.kernel<slice_like_cuda>("slice_like", "slice_cuda", gpu);
  list.kernel<slice_assign_cuda>("_slice_assign", "slice_assign_cuda", gpu);
  list.kernel<slice_assign_scalar_cuda>("_slice_assign_scalar", "slice_assign_cuda", gpu);
  list.kernel<backward_slice_cuda<SliceParams>>("_backward_slice", "scatter_cuda", gpu);
  list.kernel<backward_slice_cuda<SliceAxisParams>>("_backward_slice_axis", "scatter_cuda", gpu);
  list.kernel<backward_slice_like_cuda>("_backward_slice_like", "scatter_cuda", gpu);
}

}  // namespace loomix::ops
