// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/strided.h"
#include "ops/families_cuda.h"
#include "ops/reduce/reduce_cuda.h"
#include "ops/shape/plans.h"

namespace loomix::ops {
namespace {

using namespace cuda;

template <class P, StridedCopy (*Plan)(const P&, const Shape&)>
void move_cuda(const P& p, const KernelArgs& args) {
  cuda::copy_strided(Plan(p, args.in[0].shape), args.in[0], args.out[0], stream_of(args));
}

// The sum of the copies.
void sum_axes(const KernelArgs& args, Shape shape, const AxisSet& axes) {
  TensorView grad = args.in[0];
  grad.shape = std::move(shape);
  if (grad.size() == 0) return fill(args.out[0], 0, stream_of(args));
  cuda::reduce_array(reduction_code<fn::Sum>, Finish::none, grad, axes, args.out[0], args.scratch,
                     stream_of(args));
}

void backward_tile_cuda(const TileParams& p, const KernelArgs& args) {
  const Shape& x = args.out[0].shape;
  sum_axes(args, tiled(p, x), tiled_axes(p, x));
}
size_t backward_tile_scratch(const TileParams& p, const KernelSpec& spec) {
  const Shape& x = spec.out[0].shape;
  return cuda::reduce_scratch(tiled(p, x), tiled_axes(p, x));
}
Support backward_tile_support(const TileParams& p, const KernelSpec& spec) {
  const Shape& x = spec.out[0].shape;
  return can_reduce(tiled(p, x), tiled_axes(p, x)) ? Support::yes()
                                                   : Support::no("it has more axes than a kernel takes");
}

void backward_repeat_cuda(const RepeatParams& p, const KernelArgs& args) {
  sum_axes(args, repeated(p, args.out[0].shape), kRepeated);
}
size_t backward_repeat_scratch(const RepeatParams& p, const KernelSpec& spec) {
  return cuda::reduce_scratch(repeated(p, spec.out[0].shape), kRepeated);
}

void take_diagonal(const DiagParams& p, const KernelArgs& args) {
  cuda::copy_strided(diagonal_plan(p, args.in[0].shape, true), args.in[0], args.out[0], stream_of(args));
}

void put_diagonal(const DiagParams& p, const KernelArgs& args) {
  fill(args.out[0], 0, stream_of(args));
  cuda::copy_strided(diagonal_plan(p, args.out[0].shape, false), args.in[0], args.out[0], stream_of(args));
}

void diag_cuda(const DiagParams& p, const KernelArgs& args) {
  if (args.in[0].shape.ndim() > 1) return take_diagonal(p, args);
  put_diagonal({p.k, 0, 1}, args);
}

void backward_diag_cuda(const DiagParams& p, const KernelArgs& args) {
  if (args.out[0].shape.ndim() > 1) return put_diagonal(p, args);
  take_diagonal({p.k, 0, 1}, args);
}

// Axes of a padded array and of the one inside it. Neighbours without a border are one.
struct PadAxes {
  PadMode mode;
  int ndim = 0;
  Divider outer[kMaxAxes];  // sizes of the array that is written
  int64_t before[kMaxAxes], inner[kMaxAxes], padded[kMaxAxes],
      stride[kMaxAxes];  // strides of the array that is read

  PadAxes(const PadParams& p, const Shape& inside, const Shape& whole, bool writes_whole) : mode(p.mode) {
    bool joins = false;
    for (int axis = 0; axis < whole.ndim(); ++axis) {
      const bool plain = inside[axis] == whole[axis];
      if (!(plain && joins)) {
        inner[ndim] = padded[ndim] = 1;
        before[ndim++] = p.pad_width[2 * axis];
      }
      joins = plain;
      inner[ndim - 1] *= inside[axis];
      padded[ndim - 1] *= whole[axis];
    }
    int64_t step = 1;
    for (int axis = ndim - 1; axis >= 0; --axis) {
      stride[axis] = step;
      step *= writes_whole ? inner[axis] : padded[axis];
      outer[axis] = Divider(writes_whole ? padded[axis] : inner[axis]);
    }
  }
};

Support pad_support(const PadParams&, const KernelSpec& spec) {
  return spec.out[0].shape.ndim() <= kMaxAxes ? Support::yes()
                                              : Support::no("it has more axes than a kernel takes");
}

template <class T>
__global__ void pad_items(int64_t count, PadAxes axes, T constant, const T* x, T* y) {
  for (const int64_t i : own_items(count)) {
    int64_t rest = i, from = 0;
    bool inside = true;
    for (int axis = axes.ndim - 1; axis >= 0; --axis) {
      const int64_t outer = axes.outer[axis].quotient(rest);
      const int64_t index = rest - outer * axes.outer[axis].divisor() - axes.before[axis];
      rest = outer;
      const int64_t source = pad_source(axes.mode, index, axes.inner[axis]);
      inside = inside && source >= 0;
      from += source * axes.stride[axis];
    }
    y[i] = inside ? x[from] : constant;
  }
}

void pad_cuda(const PadParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& y = args.out[0];
  if (y.shape.ndim() == 0) return convert_array(x, y, stream_of(args));
  const Number number(p.constant_value, y.dtype);
  const PadAxes axes(p, x.shape, y.shape, true);
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    T constant;
    __builtin_memcpy(&constant, number.bytes, sizeof(T));
    launch(pad_items<T>, grid_for(y.size()), stream_of(args), y.size(), axes, constant,
           static_cast<const T*>(x.data), static_cast<T*>(y.data));
  });
}

// What shows an element is summed up, in the order of the padded array.
template <class Sum, class Array>
__device__ Sum sum_shown(int64_t i, const PadAxes& axes, const Array& grad) {
  int64_t index[kMaxAxes], turn[kMaxAxes];
  for (int axis = axes.ndim - 1; axis >= 0; --axis) {
    const int64_t outer = axes.outer[axis].quotient(i);
    index[axis] = i - outer * axes.outer[axis].divisor();
    turn[axis] = 0;
    i = outer;
  }
  Sum sum = 0;
  for (;;) {
    int64_t from = 0;
    int next = -1;  // the last axis that has more places
    for (int axis = 0; axis < axes.ndim; ++axis) {
      const PadPlaces places(axes.mode, index[axis], axes.before[axis], axes.inner[axis], axes.padded[axis]);
      from += places[turn[axis]] * axes.stride[axis];
      if (turn[axis] + 1 < places.count()) next = axis;
    }
    sum += static_cast<Sum>(grad(from));
    if (next < 0) return sum;
    ++turn[next];
    for (int axis = next + 1; axis < axes.ndim; ++axis) turn[axis] = 0;
  }
}

template <class T>
struct Elements {
  const T* data;
  __device__ double operator()(int64_t i) const { return static_cast<double>(load(data[i])); }
};
template <class T>
__global__ void unpad_items(int64_t count, PadAxes axes, Elements<T> grad, T* y) {
  for (const int64_t i : own_items(count))
    y[i] = store<T>(static_cast<Computed<T>>(sum_shown<double>(i, axes, grad)));
}
struct Integers {
  IntegerArray data;
  __device__ int64_t operator()(int64_t i) const { return data[i]; }
};
__global__ void unpad_integers(int64_t count, PadAxes axes, Integers grad, MutableIntegerArray y) {
  for (const int64_t i : own_items(count)) y.set(i, sum_shown<int64_t>(i, axes, grad));
}

void backward_pad_cuda(const PadParams& p, const KernelArgs& args) {
  const TensorView& grad = args.in[0];
  const TensorView& y = args.out[0];
  if (y.shape.ndim() == 0) return convert_array(grad, y, stream_of(args));
  if (p.mode == PadMode::constant)
    return cuda::copy_strided(unpad_plan(p, grad.shape, y.shape), grad, y, stream_of(args));
  const PadAxes axes(p, y.shape, grad.shape, false);
  if (!is_floating(y.dtype)) {
    return launch(unpad_integers, grid_for(y.size()), stream_of(args), y.size(), axes,
                  Integers{{grad.data, grad.dtype}}, MutableIntegerArray{y.data, y.dtype});
  }
  dispatch_floating(y.dtype, "Pad", [&]<class T>(Type<T>) {
    launch(unpad_items<T>, grid_for(y.size()), stream_of(args), y.size(), axes, Elements<T>{grad.as<T>()},
           y.mutable_as<T>());
  });
}

struct Sizes {
  int count = 0;
  int64_t size[Shape::kMaxDims];
};
__global__ void put_sizes(Sizes sizes, int64_t* y) {
  if (static_cast<int>(threadIdx.x) < sizes.count) y[threadIdx.x] = sizes.size[threadIdx.x];
}

void shape_array_cuda(const KernelArgs& args) {
  Sizes sizes;
  for (const int64_t size : args.in[0].shape) sizes.size[sizes.count++] = size;
  launch(put_sizes, {1, Shape::kMaxDims}, stream_of(args), sizes, args.out[0].mutable_as<int64_t>());
}

void size_array_cuda(const KernelArgs& args) {
  const Sizes sizes{1, {args.in[0].shape.size()}};
  launch(put_sizes, {1, 1}, stream_of(args), sizes, args.out[0].mutable_as<int64_t>());
}

}  // namespace

void kernels_shape_move_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<move_cuda<TransposeParams, transpose_plan>>("transpose", "permute_cuda", gpu);
  list.kernel<move_cuda<SwapAxisParams, swap_axis_plan>>("SwapAxis", "permute_cuda", gpu);
  list.kernel<move_cuda<ReverseParams, reverse_plan>>("reverse", "reverse_cuda", gpu);
  list.kernel<move_cuda<TileParams, tile_plan>>("tile", "tile_cuda", gpu);
  list.kernel<move_cuda<RepeatParams, repeat_plan>>("repeat", "repeat_cuda", gpu);
  list.kernel<move_cuda<BlockParams, depth_to_space_plan>>("depth_to_space", "permute_cuda", gpu);
  list.kernel<move_cuda<BlockParams, space_to_depth_plan>>("space_to_depth", "permute_cuda", gpu);
  list.kernel<backward_tile_cuda, backward_tile_support, backward_tile_scratch>("_backward_tile",
                                                                                "reduce_cuda", gpu);
  list.kernel<backward_repeat_cuda, backward_repeat_scratch>("_backward_repeat", "reduce_cuda", gpu);
  list.kernel<pad_cuda, pad_support>("Pad", "pad_cuda", gpu);
  list.kernel<backward_pad_cuda, pad_support>("_backward_pad", "pad_cuda", gpu);
  list.kernel<diag_cuda>("diag", "diag_cuda", gpu);
  list.kernel<backward_diag_cuda>("_backward_diag", "diag_cuda", gpu);
  list.kernel<shape_array_cuda>("shape_array", "shape_array_cuda", gpu);
  list.kernel<size_array_cuda>("size_array", "shape_array_cuda", gpu);
}

}  // namespace loomix::ops
