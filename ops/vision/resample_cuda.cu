// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ops/cuda/index.h"
#include "ops/cuda/reduce.h"
#include "ops/families_cuda.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// Planes of a smaller and a larger image. Items are pixels of the one that is written.
struct Planes {
  Divider height, width;            // written
  int64_t from_height, from_width;  // read

  Planes(const Shape& from, const Shape& to)
      : height(to[2]), width(to[3]), from_height(from[2]), from_width(from[3]) {}
  struct Pixel {
    int64_t plane, y, x;
  };
  __device__ Pixel of(int64_t i) const {
    const int64_t row = width.quotient(i), plane = height.quotient(row);
    return {plane, row - plane * height.divisor(), i - row * width.divisor()};
  }
};

template <class T>
__global__ void resize(int64_t count, Planes planes, bool align_corners, const T* x, T* y) {
  using A = Computed<T>;
  const A down_scale = tap_scale<A>(planes.from_height, planes.height.divisor(), align_corners);
  const A across_scale = tap_scale<A>(planes.from_width, planes.width.divisor(), align_corners);
  for (const int64_t i : own_items(count)) {
    const Planes::Pixel pixel = planes.of(i);
    const Tap<A> rows = tap_of(pixel.y, planes.from_height, down_scale, align_corners);
    const Tap<A> columns = tap_of(pixel.x, planes.from_width, across_scale, align_corners);
    const T* const from = x + pixel.plane * planes.from_height * planes.from_width;
    const auto across = [&](int64_t row) {
      const T* const line = from + row * planes.from_width;
      return (1 - columns.rest) * load(line[columns.first]) + columns.rest * load(line[columns.second]);
    };
    y[i] = store<T>((1 - rows.rest) * across(rows.first) + rows.rest * across(rows.second));
  }
}

void bilinear_resize_cuda(const BilinearResizeParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  dispatch_floating(y.dtype, "BilinearResize2D", [&]<class T>(Type<T>) {
    launch(resize<T>, grid_for(y.size()), stream_of(args), y.size(), Planes(args.in[0].shape, y.shape),
           p.align_corners, args.in[0].as<T>(), y.mutable_as<T>());
  });
}

// The elements of an axis whose taps may show element `at`: those between, and some more, as the places are rounded.
template <class A>
struct Shown {
  int64_t begin, size, in;
  A scale;
  bool align_corners;

  __device__ Shown(int64_t at, int64_t from, int64_t to, A axis_scale, bool align)
      : begin(0), size(to), in(from), scale(axis_scale), align_corners(align) {
    if (!(scale > 0)) return;
    const A first = (static_cast<A>(at - 1) + (align ? A{0} : A(0.5))) / scale - (align ? A{0} : A(0.5));
    const A early = first - 2 - first * A(1e-6);
    begin = early > 0 ? static_cast<int64_t>(early) : 0;
  }
  // fn(element, share of `at` in it).
  template <class Fn>
  __device__ void each(int64_t at, const Fn& fn) const {
    for (int64_t i = begin; i < size; ++i) {
      const Tap<A> tap = tap_of(i, in, scale, align_corners);
      if (tap.first > at) return;
      if (tap.second < at) continue;
      const A share = (tap.first == at ? 1 - tap.rest : A{0}) + (tap.second == at ? tap.rest : A{0});
      fn(i, share);
    }
  }
};

template <class T>
__global__ void resize_backward(int64_t count, Planes planes, bool align_corners, const T* grad, T* y) {
  using A = Computed<T>;
  const int64_t height = planes.height.divisor(), width = planes.width.divisor();
  const A down_scale = tap_scale<A>(height, planes.from_height, align_corners);
  const A across_scale = tap_scale<A>(width, planes.from_width, align_corners);
  for (const int64_t i : own_items(count)) {
    const Planes::Pixel pixel = planes.of(i);
    const T* const from = grad + pixel.plane * planes.from_height * planes.from_width;
    const Shown<A> rows(pixel.y, height, planes.from_height, down_scale, align_corners);
    const Shown<A> columns(pixel.x, width, planes.from_width, across_scale, align_corners);
    A sum = 0;
    rows.each(pixel.y, [&](int64_t row, A down) {
      columns.each(pixel.x, [&](int64_t column, A across) {
        sum += load(from[row * planes.from_width + column]) * across * down;
      });
    });
    y[i] = store<T>(sum);
  }
}

void bilinear_resize_backward_cuda(const BilinearResizeParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  dispatch_floating(y.dtype, "BilinearResize2D", [&]<class T>(Type<T>) {
    launch(resize_backward<T>, grid_for(y.size()), stream_of(args), y.size(),
           Planes(args.in[0].shape, y.shape), p.align_corners, args.in[0].as<T>(), y.mutable_as<T>());
  });
}

// A window is the work of `kLanes` threads.
template <class T, int kLanes>
__global__ void pool_windows(int64_t count, Planes planes, const T* x, T* y) {
  using A = Computed<T>;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  for (int64_t i = thread_place() / kLanes; i < count; i += thread_count() / kLanes) {
    const Planes::Pixel pixel = planes.of(i);
    const PoolWindow rows = pool_window(pixel.y, planes.from_height, planes.height.divisor());
    const PoolWindow columns = pool_window(pixel.x, planes.from_width, planes.width.divisor());
    const T* const from = x + pixel.plane * planes.from_height * planes.from_width;
    A sum = 0;
    const int width = static_cast<int>(columns.end - columns.begin);
    const int size = static_cast<int>(rows.end - rows.begin) * width;
    for (int k = lane; k < size; k += kLanes)
      sum += load(from[(rows.begin + k / width) * planes.from_width + columns.begin + k % width]);
    if constexpr (kLanes > 1) sum = merge_warp(sum, Plus{});
    if (lane == 0) y[i] = store<T>(sum / static_cast<A>(size));
  }
}

void adaptive_pool_cuda(const KernelArgs& args) {
  const Shape& in = args.in[0].shape;
  const TensorView& y = args.out[0];
  constexpr int64_t kFewElements = 16;
  const bool few = in[2] * in[3] <= kFewElements * y.shape[2] * y.shape[3];
  const Planes planes(in, y.shape);
  dispatch_floating(y.dtype, "AdaptiveAvgPooling2D", [&]<class T>(Type<T>) {
    if (few) {
      launch(pool_windows<T, 1>, grid_for(y.size()), stream_of(args), y.size(), planes, args.in[0].as<T>(),
             y.mutable_as<T>());
    } else {
      launch(pool_windows<T, kWarp>, grid_for(y.size() * kWarp), stream_of(args), y.size(), planes,
             args.in[0].as<T>(), y.mutable_as<T>());
    }
  });
}

template <class T>
__global__ void pool_backward(int64_t count, Planes planes, const T* grad, T* y) {
  using A = Computed<T>;
  const int64_t height = planes.height.divisor(), width = planes.width.divisor();
  for (const int64_t i : own_items(count)) {
    const Planes::Pixel pixel = planes.of(i);
    const T* const from = grad + pixel.plane * planes.from_height * planes.from_width;
    // The first and last windows that have the pixel.
    const int64_t top = pixel.y * planes.from_height / height, left = pixel.x * planes.from_width / width;
    const int64_t bottom = ((pixel.y + 1) * planes.from_height - 1) / height;
    const int64_t right = ((pixel.x + 1) * planes.from_width - 1) / width;
    A sum = 0;
    for (int64_t row = top; row <= bottom; ++row) {
      const PoolWindow rows = pool_window(row, height, planes.from_height);
      for (int64_t column = left; column <= right; ++column) {
        const PoolWindow columns = pool_window(column, width, planes.from_width);
        sum += load(from[row * planes.from_width + column]) /
               static_cast<A>((rows.end - rows.begin) * (columns.end - columns.begin));
      }
    }
    y[i] = store<T>(sum);
  }
}

void adaptive_pool_backward_cuda(const KernelArgs& args) {
  const TensorView& y = args.out[0];
  dispatch_floating(y.dtype, "AdaptiveAvgPooling2D", [&]<class T>(Type<T>) {
    launch(pool_backward<T>, grid_for(y.size()), stream_of(args), y.size(), Planes(args.in[0].shape, y.shape),
           args.in[0].as<T>(), y.mutable_as<T>());
  });
}

}  // namespace

void kernels_resample_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<bilinear_resize_cuda>("_contrib_BilinearResize2D", "bilinear_resize_cuda", gpu);
  list.kernel<bilinear_resize_backward_cuda>("_backward__contrib_BilinearResize2D",
                                             "bilinear_resize_backward_cuda", gpu);
  list.kernel<adaptive_pool_cuda>("_contrib_AdaptiveAvgPooling2D", "adaptive_pool_cuda", gpu);
  list.kernel<adaptive_pool_backward_cuda>("_backward__contrib_AdaptiveAvgPooling2D",
                                           "adaptive_pool_backward_cuda", gpu);
}

}  // namespace loomix::ops
