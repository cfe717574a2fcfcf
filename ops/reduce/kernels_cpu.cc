// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/apply.h"
#include "ops/elemwise/binary.h"
#include "ops/reduce/cumsum.h"
#include "ops/reduce/histogram.h"
#include "ops/reduce/reduce.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class P>
size_t scratch(const P& p, const KernelSpec& spec) {
  return reduce_scratch(spec.in[0].shape, axes_of(p, spec.in[0].shape));
}

template <Reduction op, Finish finish>
void reduce_cpu(const ReduceParams& p, const KernelArgs& args) {
  reduce_array(op, finish, args.in[0], axes_of(p, args.in[0].shape), args.out[0], args);
}

template <class F, Finish finish, class Gradient>
void add_reduction(OpTable& table, const ReduceOp<F, finish, Gradient>& op) {
  if (*op.name == 0) return;
  table.kernel<reduce_cpu<reduction_code<F>, finish>, scratch<ReduceParams>>(op.name, "reduce_cpu");
}

void norm_cpu(const NormParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const Reduction op = p.ord == 1 ? reduction_code<fn::AbsSum> : reduction_code<fn::SquareSum>;
  reduce_array(op, p.ord == 1 ? Finish::none : Finish::root, x, axes_of(p, x.shape), args.out[0], args);
}

void moments_cpu(const MomentsParams& p, const KernelArgs& args) {
  const auto wanted = [&](size_t i) { return args.req[i] == Req::null ? TensorView() : args.out[i]; };
  moments_array(args.in[0], axes_of(p, args.in[0].shape), wanted(0), wanted(1), args);
}

// The gradient with its reduced axes back, as size 1.
TensorView with_kept_axes(const ReduceParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  TensorView grad = args.in[0];
  grad.shape = reduced_shape(y.shape, axes_of(p, y.shape), true);
  return grad;
}

void backward_sum_cpu(const ReduceParams& p, const KernelArgs& args) {
  apply_broadcast_copy(with_kept_axes(p, args), args.out[0], args);
}

void backward_mean_cpu(const ReduceParams& p, const KernelArgs& args) {
  const TensorView grad = with_kept_axes(p, args);
  const TensorView& y = args.out[0];
  apply_broadcast_scalar(binary_code<fn::Div>, grad, static_cast<double>(y.size() / grad.size()), y, args);
}

void backward_square_sum_cpu(const ReduceParams& p, const KernelArgs& args) {
  apply_broadcast(binary_code<fn::BackwardSquare>, with_kept_axes(p, args), args.in[1], args.out[0], args);
}

void broadcast_copy_cpu(const KernelArgs& args) { apply_broadcast_copy(args.in[0], args.out[0], args); }

void reduce_to_like_cpu(const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& y = args.out[0];
  const AxisSet axes = repeated_axes(x.shape, y.shape);
  if (axes.none() || x.size() == y.size()) return apply_convert(x, y, args);
  reduce_array(reduction_code<fn::Sum>, Finish::none, x, axes, y, args);
}

size_t reduce_to_like_scratch(const KernelSpec& spec) {
  return reduce_scratch(spec.in[0].shape, repeated_axes(spec.in[0].shape, spec.out[0].shape));
}

}  // namespace

void kernels_reduce_cpu(OpTable& table) {
  std::apply([&](const auto&... op) { (add_reduction(table, op), ...); }, kReductions);
  table.kernel<moments_cpu, scratch<MomentsParams>>("moments", "moments_cpu");
  table.kernel<histogram_cpu>("_histogram", "histogram_cpu");
  table.kernel<norm_cpu, scratch<NormParams>>("norm", "reduce_cpu");
  table.kernel<argmax_cpu>("argmax", "argmax_cpu");
  table.kernel<argmin_cpu>("argmin", "argmin_cpu");
  table.kernel<argmax_channel_cpu>("argmax_channel", "argmax_cpu");
  for (const char* op : {"broadcast_axis", "broadcast_to", "broadcast_like", "_broadcast_to_like"})
    table.kernel<broadcast_copy_cpu>(op, "broadcast_copy_cpu");
  table.kernel<reduce_to_like_cpu, reduce_to_like_scratch>("_broadcast_reduce_to_like", "reduce_cpu");
  table.kernel<cumsum_cpu>("_np_cumsum", "cumsum_cpu");
}

void gradients_reduce_cpu(OpTable& table) {
  table.kernel<backward_sum_cpu>("_backward_sum", "broadcast_copy_cpu");
  table.kernel<backward_mean_cpu>("_backward_mean", "backward_mean_cpu");
  table.kernel<backward_square_sum_cpu>("_backward_square_sum", "backward_square_sum_cpu");
  table.kernel<backward_cumsum_cpu>("_backward_np_cumsum", "backward_cumsum_cpu");
}

}  // namespace loomix::ops
