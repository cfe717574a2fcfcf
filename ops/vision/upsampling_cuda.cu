// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ops/cuda/index.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// The planes of one input lie at [first, first + channels) of the `all` channels of the output.
struct Part {
  int64_t first, all, height, width, scale;
  Divider channels, rows, columns;  // of the array that is written

  // Of an output's pixel: the element of the part that it shows.
  __device__ int64_t small(int64_t plane, int64_t y, int64_t x) const {
    return (plane * height + y / scale) * width + x / scale;
  }
  // The pixel of the output at the upper left of what element (y, x) becomes.
  __device__ int64_t large(int64_t plane, int64_t y, int64_t x) const {
    const int64_t n = channels.quotient(plane);
    const int64_t of_all = n * all + first + (plane - n * channels.divisor());
    return (of_all * height * scale + y) * width * scale + x;
  }
  int64_t items() const { return channels.divisor() * rows.divisor() * columns.divisor(); }
};

Part part_of(const UpSamplingParams& p, std::span<const TensorView> inputs, size_t i, const Shape& out,
             bool writes_large) {
  const Shape& shape = inputs[i].shape;
  Part part{0,
            out[1],
            shape[2],
            shape[3],
            out[2] / std::max<int64_t>(shape[2], 1),
            Divider(shape[1]),
            Divider(writes_large ? out[2] : shape[2]),
            Divider(writes_large ? out[3] : shape[3])};
  for (size_t before = 0; p.multi_input_mode == MultiInput::concat && before < i; ++before)
    part.first += inputs[before].shape[1];
  return part;
}

template <class T, bool adds>
__global__ void enlarge(int64_t count, Part part, const T* in, T* out) {
  for (const int64_t i : own_items(count)) {
    const int64_t row = part.columns.quotient(i), plane = part.rows.quotient(row);
    const int64_t y = row - plane * part.rows.divisor(), x = i - row * part.columns.divisor();
    const T item = in[part.small(plane, y, x)];
    T& to = out[part.large(plane, y, x)];
    if constexpr (adds) to = store<T>(load(to) + load(item));
    else to = item;
  }
}

void upsampling_nearest_cuda(const UpSamplingParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  dispatch_floating(y.dtype, "UpSampling", [&]<class T>(Type<T>) {
    for (size_t i = 0; i < args.in.size(); ++i) {
      const Part part = part_of(p, args.in, i, y.shape, true);
      const int64_t count = y.shape[0] * part.items();
      if (count == 0) continue;
      const bool adds = p.multi_input_mode == MultiInput::sum && i > 0;
      launch(adds ? enlarge<T, true> : enlarge<T, false>, grid_for(count), stream_of(args), count, part,
             args.in[i].as<T>(), y.mutable_as<T>());
    }
  });
}

template <class T>
__global__ void sum_blocks(int64_t count, Part part, const T* grad, T* out) {
  for (const int64_t i : own_items(count)) {
    const int64_t row = part.columns.quotient(i), plane = part.rows.quotient(row);
    const int64_t y = row - plane * part.rows.divisor(), x = i - row * part.columns.divisor();
    const T* const from = grad + part.large(plane, y * part.scale, x * part.scale);
    Computed<T> sum = 0;
    for (int64_t j = 0; j < part.scale; ++j) {
      for (int64_t k = 0; k < part.scale; ++k) sum += load(from[j * part.width * part.scale + k]);
    }
    out[i] = store<T>(sum);
  }
}

void upsampling_backward_cuda(const UpSamplingParams& p, const KernelArgs& args) {
  const TensorView& grad = args.in[0];
  dispatch_floating(grad.dtype, "UpSampling", [&]<class T>(Type<T>) {
    for (size_t i = 0; i < args.out.size(); ++i) {
      if (args.req[i] == Req::null || args.out[i].size() == 0) continue;
      const int64_t count = args.out[i].size();
      launch(sum_blocks<T>, grid_for(count), stream_of(args), count,
             part_of(p, args.out, i, grad.shape, false), grad.as<T>(), args.out[i].mutable_as<T>());
    }
  });
}

Support nearest_support(const UpSamplingParams& p, const KernelSpec&) {
  return p.sample_type == SampleType::nearest ? Support::yes() : Support::no("it is for nearest sampling");
}

}  // namespace

void kernels_upsampling_cuda(KernelList& list) {
  list.kernel<upsampling_nearest_cuda, nearest_support>("UpSampling", "upsampling_nearest_cuda",
                                                        DeviceType::gpu);
  list.kernel<upsampling_backward_cuda>("_backward_UpSampling", "upsampling_backward_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops
