// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/fill.h"
#include "ops/elemwise/binary_functors.h"
#include "ops/elemwise/loops.h"
#include "ops/elemwise/numbers_cuda.h"
#include "ops/families_cuda.h"
#include "ops/reduce/reduce_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// ---- reductions -----------------------------------------------------------------------------------------------------

Support groups(const Shape& shape, const AxisSet& axes) {
  return can_reduce(shape, axes) ? Support::yes() : Support::no("the axes form too many groups for GPUs");
}
template <class P>
Support support(const P& p, const KernelSpec& spec) {
  return groups(spec.in[0].shape, axes_of(p, spec.in[0].shape));
}
template <class P>
size_t scratch(const P& p, const KernelSpec& spec) {
  return cuda::reduce_scratch(spec.in[0].shape, axes_of(p, spec.in[0].shape));
}

template <Reduction op, Finish finish>
void reduce_cuda(const ReduceParams& p, const KernelArgs& args) {
  cuda::reduce_array(op, finish, args.in[0], axes_of(p, args.in[0].shape), args.out[0], args.scratch,
                     stream_of(args));
}

template <class F, Finish finish, class Gradient>
void add_reduction(KernelList& list, const ReduceOp<F, finish, Gradient>& op) {
  if (*op.name == 0) return;
  list.kernel<reduce_cuda<reduction_code<F>, finish>, scratch<ReduceParams>, support<ReduceParams>>(
      op.name, "reduce_cuda", DeviceType::gpu);
}

void norm_cuda(const NormParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const Reduction op = p.ord == 1 ? reduction_code<fn::AbsSum> : reduction_code<fn::SquareSum>;
  cuda::reduce_array(op, p.ord == 1 ? Finish::none : Finish::root, x, axes_of(p, x.shape), args.out[0],
                     args.scratch, stream_of(args));
}

void moments_cuda(const MomentsParams& p, const KernelArgs& args) {
  const auto wanted = [&](size_t i) { return args.req[i] == Req::null ? TensorView() : args.out[i]; };
  if (args.out[0].size() == 0) return;
  cuda::moments_array(args.in[0], axes_of(p, args.in[0].shape), wanted(0), wanted(1), args.scratch,
                      stream_of(args));
}
size_t moments_bytes(const MomentsParams& p, const KernelSpec& spec) {
  return moments_scratch(spec.in[0].shape, axes_of(p, spec.in[0].shape));
}

void reduce_to_like_cuda(const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& y = args.out[0];
  const AxisSet axes = repeated_axes(x.shape, y.shape);
  if (axes.none() || x.size() == y.size()) return convert_array(x, y, stream_of(args));
  cuda::reduce_array(reduction_code<fn::Sum>, Finish::none, x, axes, y, args.scratch, stream_of(args));
}
size_t reduce_to_like_scratch(const KernelSpec& spec) {
  return cuda::reduce_scratch(spec.in[0].shape, repeated_axes(spec.in[0].shape, spec.out[0].shape));
}
Support reduce_to_like_support(const KernelSpec& spec) {
  return groups(spec.in[0].shape, repeated_axes(spec.in[0].shape, spec.out[0].shape));
}

// ---- their opposite ---------------------------------------------------------------------------------------------------

struct Same {
  template <class T>
  __device__ T operator()(T x) const {
    return x;
  }
};

void repeat_array(const TensorView& x, const TensorView& y, cudaStream_t stream) {
  LOOMIX_INTERNAL_CHECK(x.dtype == y.dtype);
  if (x.size() == y.size()) return convert_array(x, y, stream);
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    map_repeated(stream, y.shape, Same{}, static_cast<T*>(y.data), static_cast<const T*>(x.data), x.shape);
  });
}

// The gradient with its reduced axes back, as size 1.
TensorView with_kept_axes(const ReduceParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  TensorView grad = args.in[0];
  grad.shape = reduced_shape(y.shape, axes_of(p, y.shape), true);
  return grad;
}

void broadcast_copy_cuda(const KernelArgs& args) { repeat_array(args.in[0], args.out[0], stream_of(args)); }
void backward_sum_cuda(const ReduceParams& p, const KernelArgs& args) {
  repeat_array(with_kept_axes(p, args), args.out[0], stream_of(args));
}

template <class C>
struct DividedBy {
  C number;
  __device__ C operator()(C x) const { return x / number; }
};
__global__ void divide_integers(int64_t count, Places<1> places, IntegerArray x, int64_t number,
                                MutableIntegerArray y) {
  for (const int64_t i : own_items(count)) {
    int64_t at[1];
    places.of(i, at);
    put_integer<fn::Div>(y, i, x[at[0]], number);
  }
}

void backward_mean_cuda(const ReduceParams& p, const KernelArgs& args) {
  const TensorView grad = with_kept_axes(p, args);
  const TensorView& y = args.out[0];
  const Number number(static_cast<double>(y.size() / grad.size()), y.dtype);
  if (!is_floating(y.dtype)) {
    return launch(divide_integers, grid_for(y.size()), stream_of(args), y.size(),
                  places_of<1>(plan_broadcast(y.shape, {&grad.shape})), IntegerArray{grad.data, grad.dtype},
                  IntegerArray{number.bytes, y.dtype}[0], MutableIntegerArray{y.data, y.dtype});
  }
  dispatch_floating(y.dtype, "_backward_mean", [&]<class T>(Type<T>) {
    T rounded;
    __builtin_memcpy(&rounded, number.bytes, sizeof(T));
    map_repeated(stream_of(args), y.shape, DividedBy<Computed<T>>{load(rounded)}, y.mutable_as<T>(),
                 grad.as<T>(), grad.shape);
  });
}

__global__ void square_gradients(int64_t count, Places<2> places, IntegerArray grad, IntegerArray x,
                                 MutableIntegerArray y) {
  for (const int64_t i : own_items(count)) {
    int64_t at[2];
    places.of(i, at);
    put_integer<fn::BackwardSquare>(y, i, grad[at[0]], x[at[1]]);
  }
}

void backward_square_sum_cuda(const ReduceParams& p, const KernelArgs& args) {
  const TensorView grad = with_kept_axes(p, args);
  const TensorView& x = args.in[1];
  const TensorView& y = args.out[0];
  if (!is_floating(y.dtype)) {
    return launch(square_gradients, grid_for(y.size()), stream_of(args), y.size(),
                  places_of<2>(plan_broadcast(y.shape, {&grad.shape, &x.shape})),
                  IntegerArray{grad.data, grad.dtype}, IntegerArray{x.data, x.dtype},
                  MutableIntegerArray{y.data, y.dtype});
  }
  dispatch_floating(y.dtype, "_backward_square_sum", [&]<class T>(Type<T>) {
    map_broadcast(stream_of(args), y.shape, Applied<fn::BackwardSquare>{}, y.mutable_as<T>(), grad.as<T>(),
                  grad.shape, x.as<T>(), x.shape);
  });
}

}  // namespace

void kernels_reduce_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  std::apply([&](const auto&... op) { (add_reduction(list, op), ...); }, kReductions);
  list.kernel<norm_cuda, scratch<NormParams>, support<NormParams>>("norm", "reduce_cuda", gpu);
  list.kernel<moments_cuda, moments_bytes, support<MomentsParams>>("moments", "moments_cuda", gpu);
  list.kernel<reduce_to_like_cuda, reduce_to_like_scratch, reduce_to_like_support>(
      "_broadcast_reduce_to_like", "reduce_cuda", gpu);
  for (const char* op : {"broadcast_axis", "broadcast_to", "broadcast_like", "_broadcast_to_like"})
    list.kernel<broadcast_copy_cuda>(op, "broadcast_copy_cuda", gpu);
  list.kernel<backward_sum_cuda>("_backward_sum", "broadcast_copy_cuda", gpu);
  list.kernel<backward_mean_cuda>("_backward_mean", "backward_mean_cuda", gpu);
  list.kernel<backward_square_sum_cuda>("_backward_square_sum", "backward_square_sum_cuda", gpu);
}

}  // namespace loomix::ops
