// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ops/cuda/index.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// Places are those of the padded images; the zeros at their sides are not stored.
struct Correlated {
  Divider across, down, displacements;  // of the output
  Divider width, height, channels;      // of the images
  int64_t side, reach;                  // of the square of displacements
  int64_t kernel, stride1, stride2, pad, shift;
  bool multiply;

  Correlated(const CorrelationParams& p, const CorrelationGeometry& g)
      : across(g.out[1]),
        down(g.out[0]),
        displacements(g.displacements()),
        width(g.in[1]),
        height(g.in[0]),
        channels(g.channels),
        side(2 * g.reach + 1),
        reach(g.reach),
        kernel(p.kernel_size),
        stride1(p.stride1),
        stride2(p.stride2),
        pad(p.pad_size),
        shift(p.max_displacement),
        multiply(p.is_multiply) {}

  __device__ int64_t moved_down(int64_t number) const { return (number / side - reach) * stride2; }
  __device__ int64_t moved_across(int64_t number) const { return (number % side - reach) * stride2; }
  template <class T>
  __device__ Computed<T> read(const T* plane, int64_t y, int64_t x) const {
    y -= pad;
    x -= pad;
    const bool inside = y >= 0 && y < height.divisor() && x >= 0 && x < width.divisor();
    return inside ? load(plane[y * width.divisor() + x]) : Computed<T>{0};
  }
  // The place of the output whose square meets `place` with its element `offset`; negative: there is none.
  __device__ int64_t met(int64_t place, int64_t offset, int64_t size) const {
    const int64_t from = place - shift - offset, at = from / stride1;
    return from >= 0 && at * stride1 == from && at < size ? at : -1;
  }
};

template <class T>
__global__ void correlate(int64_t count, Correlated g, Computed<T> factor, const T* first, const T* second,
                          T* out) {
  const int64_t plane = g.height.divisor() * g.width.divisor();
  for (const int64_t i : own_items(count)) {
    const int64_t row = g.across.quotient(i), unit = g.down.quotient(row),
                  image = g.displacements.quotient(unit);
    const int64_t number = unit - image * g.displacements.divisor();
    const int64_t y = (row - unit * g.down.divisor()) * g.stride1 + g.shift;
    const int64_t x = (i - row * g.across.divisor()) * g.stride1 + g.shift;
    const int64_t moved_y = y + g.moved_down(number), moved_x = x + g.moved_across(number);
    Computed<T> sum = 0;
    for (int64_t c = 0; c < g.channels.divisor(); ++c) {
      const T* const a = first + (image * g.channels.divisor() + c) * plane;
      const T* const b = second + (image * g.channels.divisor() + c) * plane;
      for (int64_t j = 0; j < g.kernel; ++j) {
        for (int64_t k = 0; k < g.kernel; ++k) {
          const Computed<T> one = g.read(a, y + j, x + k), other = g.read(b, moved_y + j, moved_x + k);
          sum += g.multiply ? one * other : std::abs(one - other);
        }
      }
    }
    out[i] = store<T>(sum * factor);
  }
}

// The gradient of one of the images, each element gathered by a thread.
template <class T>
__global__ void correlate_backward(int64_t count, Correlated g, Computed<T> factor, bool is_first,
                                   const T* grad, const T* own_image, const T* other_image, T* out) {
  const int64_t plane_size = g.height.divisor() * g.width.divisor();
  for (const int64_t i : own_items(count)) {
    const int64_t row = g.width.quotient(i), plane = g.height.quotient(row);
    const int64_t y = row - plane * g.height.divisor() + g.pad, x = i - row * g.width.divisor() + g.pad;
    const T* const other = other_image + plane * plane_size;
    const Computed<T> own = load(own_image[i]);
    const int64_t first_of_image = g.channels.quotient(plane) * g.displacements.divisor();
    Computed<T> sum = 0;
    for (int64_t number = 0; number < g.displacements.divisor(); ++number) {
      const int64_t dy = g.moved_down(number), dx = g.moved_across(number);
      // The square of the first image; the second one's is moved from it.
      const int64_t at_y = is_first ? y : y - dy, at_x = is_first ? x : x - dx;
      const Computed<T> there = g.read(other, is_first ? y + dy : at_y, is_first ? x + dx : at_x);
      const bool grows = is_first ? own >= there : own > there;
      const T* const head = grad + (first_of_image + number) * g.down.divisor() * g.across.divisor();
      for (int64_t j = 0; j < g.kernel; ++j) {
        const int64_t to_y = g.met(at_y, j, g.down.divisor());
        for (int64_t k = 0; to_y >= 0 && k < g.kernel; ++k) {
          const int64_t to_x = g.met(at_x, k, g.across.divisor());
          if (to_x < 0) continue;
          const Computed<T> share = load(head[to_y * g.across.divisor() + to_x]) * factor;
          sum += g.multiply ? share * there : grows ? share : -share;
        }
      }
    }
    out[i] = store<T>(sum);
  }
}

template <class T>
Computed<T> share_of(const CorrelationParams& p, const CorrelationGeometry& g) {
  return Computed<T>{1} /
         static_cast<Computed<T>>(std::max<int64_t>(1, g.channels * p.kernel_size * p.kernel_size));
}

void correlation_cuda(const CorrelationParams& p, const KernelArgs& args) {
  const CorrelationGeometry g(p, args.in[0].shape);
  const TensorView& out = args.out[0];
  dispatch_floating(out.dtype, "Correlation", [&]<class T>(Type<T>) {
    launch(correlate<T>, grid_for(out.size()), stream_of(args), out.size(), Correlated(p, g),
           share_of<T>(p, g), args.in[0].as<T>(), args.in[1].as<T>(), out.mutable_as<T>());
  });
}

void correlation_backward_cuda(const CorrelationParams& p, const KernelArgs& args) {
  const CorrelationGeometry g(p, args.in[1].shape);
  const int64_t count = args.in[1].size();
  if (count == 0) return;
  dispatch_floating(args.in[0].dtype, "Correlation", [&]<class T>(Type<T>) {
    for (size_t image = 0; image < 2; ++image) {
      if (args.req[image] == Req::null) continue;
      launch(correlate_backward<T>, grid_for(count), stream_of(args), count, Correlated(p, g),
             share_of<T>(p, g), image == 0, args.in[0].as<T>(), args.in[1 + image].as<T>(),
             args.in[2 - image].as<T>(), args.out[image].mutable_as<T>());
    }
  });
}

}  // namespace

void kernels_correlation_cuda(KernelList& list) {
  list.kernel<correlation_cuda>("Correlation", "correlation_cuda", DeviceType::gpu);
  list.kernel<correlation_backward_cuda>("_backward_Correlation", "correlation_backward_cuda",
                                         DeviceType::gpu);
}

}  // namespace loomix::ops
