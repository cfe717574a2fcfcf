// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "ops/elemwise/apply.h"
#include "ops/elemwise/binary.h"
#include "ops/families.h"
#include "ops/reduce/histogram.h"
#include "ops/reduce/reduce.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <Reduction op, Finish finish = Finish::none>
void reduce_cpu(const ReduceParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  reduce_array(op, finish, x, reduced_axes(p.axis, p.exclude, x.shape.ndim(), "reduce"), args.out[0], args);
}

void norm_cpu(const NormParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const AxisSet axes = reduced_axes(p.axis, false, x.shape.ndim(), "norm");
  if (p.ord == 1) reduce_array(Reduction::abs_sum, Finish::none, x, axes, args.out[0], args);
  else reduce_array(Reduction::square_sum, Finish::root, x, axes, args.out[0], args);
}

void moments_cpu(const MomentsParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const AxisSet axes = reduced_axes(p.axes, false, x.shape.ndim(), "moments");
  TensorView mean = args.out[0];
  std::vector<char> own_mean;
  if (args.req[0] == Req::null) {
    own_mean.resize(static_cast<size_t>(mean.bytes()));
    mean.data = own_mean.data();
  }
  reduce_array(Reduction::sum, Finish::mean, x, axes, mean, args);
  if (args.req[1] == Req::null) return;
  mean.shape = reduced_shape(x.shape, axes, true);
  std::vector<char> distances(static_cast<size_t>(x.bytes()));
  const TensorView distance{distances.data(), x.dtype, x.shape};
  apply_broadcast(binary_code<fn::Sub>, x, mean, distance, args);
  reduce_array(Reduction::square_sum, Finish::mean, distance, axes, args.out[1], args);
}

// The gradient with its reduced axes back, as size 1.
TensorView with_kept_axes(const ReduceParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  TensorView grad = args.in[0];
  grad.shape = reduced_shape(y.shape, reduced_axes(p.axis, p.exclude, y.shape.ndim(), "reduce"), true);
  return grad;
}

void backward_sum_cpu(const ReduceParams& p, const KernelArgs& args) {
  apply_broadcast_copy(with_kept_axes(p, args), args.out[0], args);
}

void backward_mean_cpu(const ReduceParams& p, const KernelArgs& args) {
  TensorView grad = with_kept_axes(p, args);
  const TensorView& y = args.out[0];
  if (y.size() == 0) return;
  std::vector<char> scaled(static_cast<size_t>(grad.bytes()));
  TensorView small = grad;
  small.data = scaled.data();
  apply_scalar(binary_code<fn::Div>, Spread::right, grad, static_cast<double>(y.size() / grad.size()), small,
               args);
  apply_broadcast_copy(small, y, args);
}

template <class P>
void broadcast_copy_cpu(const P&, const KernelArgs& args) {
  apply_broadcast_copy(args.in[0], args.out[0], args);
}

void reduce_to_like_cpu(const NoParams&, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& y = args.out[0];
  AxisSet axes;
  const int extra = x.shape.ndim() - y.shape.ndim();
  for (int axis = 0; axis < x.shape.ndim(); ++axis) {
    if (axis < extra || y.shape[axis - extra] != x.shape[axis]) axes.set(axis);
  }
  if (axes.none() || x.size() == y.size()) return apply_convert(x, y, args);
  reduce_array(Reduction::sum, Finish::none, x, axes, y, args);
}

}  // namespace

void kernels_reduce_cpu(OpTable& table) {
  constexpr auto cpu = DeviceType::cpu;
  table.kernel<ReduceParams, reduce_cpu<Reduction::sum>>("sum", "reduce_cpu", cpu);
  table.kernel<ReduceParams, reduce_cpu<Reduction::sum, Finish::mean>>("mean", "reduce_cpu", cpu);
  table.kernel<ReduceParams, reduce_cpu<Reduction::square_sum>>("_square_sum", "reduce_cpu", cpu);
  table.kernel<MomentsParams, moments_cpu>("moments", "moments_cpu", cpu);
  table.kernel<HistogramParams, histogram_cpu>("_histogram", "histogram_cpu", cpu);
  table.kernel<ReduceParams, reduce_cpu<Reduction::prod>>("prod", "reduce_cpu", cpu);
  table.kernel<ReduceParams, reduce_cpu<Reduction::nansum>>("nansum", "reduce_cpu", cpu);
  table.kernel<ReduceParams, reduce_cpu<Reduction::nanprod>>("nanprod", "reduce_cpu", cpu);
  table.kernel<ReduceParams, reduce_cpu<Reduction::max>>("max", "reduce_cpu", cpu);
  table.kernel<ReduceParams, reduce_cpu<Reduction::min>>("min", "reduce_cpu", cpu);
  table.kernel<ReduceParams, backward_sum_cpu>("_backward_sum", "broadcast_copy_cpu", cpu);
  table.kernel<ReduceParams, backward_mean_cpu>("_backward_mean", "backward_mean_cpu", cpu);
  table.kernel<NormParams, norm_cpu>("norm", "reduce_cpu", cpu);
  table.kernel<ArgParams, argmax_cpu>("argmax", "argmax_cpu", cpu);
  table.kernel<ArgParams, argmin_cpu>("argmin", "argmin_cpu", cpu);
  table.kernel<NoParams, argmax_channel_cpu>("argmax_channel", "argmax_cpu", cpu);
  table.kernel<BroadcastAxisParams, broadcast_copy_cpu<BroadcastAxisParams>>("broadcast_axis",
                                                                             "broadcast_copy_cpu", cpu);
  table.kernel<BroadcastToParams, broadcast_copy_cpu<BroadcastToParams>>("broadcast_to", "broadcast_copy_cpu",
                                                                         cpu);
  table.kernel<BroadcastLikeParams, broadcast_copy_cpu<BroadcastLikeParams>>("broadcast_like",
                                                                             "broadcast_copy_cpu", cpu);
  table.kernel<NoParams, broadcast_copy_cpu<NoParams>>("_broadcast_to_like", "broadcast_copy_cpu", cpu);
  table.kernel<NoParams, reduce_to_like_cpu>("_broadcast_reduce_to_like", "reduce_cpu", cpu);
}

}  // namespace loomix::ops
