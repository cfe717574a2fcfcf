// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/direct_cuda.h"

#include "engine/device/cuda/element.h"
#include "engine/device/cuda/launch.h"
#include "ops/cuda/index.h"
#include "ops/cuda/reduce.h"

namespace loomix::cuda {
namespace {

using ops::ConvGeometry;
using ops::ConvPass;

// The geometry as kernels take it, and where elements stand for both orders of axes.
struct Place {
  int64_t groups, channels, filters, in_size, out_size, taps, batch;
  int64_t in[3], out[3], kernel[3], stride[3], dilate[3], pad[3];
  int64_t image_in, channel_in, pixel_in;
  int64_t image_out, channel_out, pixel_out;
  int64_t filter, channel, tap;

  explicit Place(const ConvGeometry& g)
      : groups(g.groups),
        channels(g.channels),
        filters(g.filters),
        in_size(g.in_size()),
        out_size(g.out_size()),
        taps(g.kernel_size()),
        batch(g.batch) {
    for (int i = 0; i < 3; ++i) {
      in[i] = g.in[i], out[i] = g.out[i], kernel[i] = g.kernel[i];
      stride[i] = g.stride[i], dilate[i] = g.dilate[i], pad[i] = g.pad[i];
    }
    const bool last = g.channels_last;
    image_in = groups * channels * in_size;
    image_out = groups * filters * out_size;
    filter = channels * taps;
    channel_in = last ? 1 : in_size;
    channel_out = last ? 1 : out_size;
    channel = last ? 1 : taps;
    pixel_in = last ? groups * channels : 1;
    pixel_out = last ? groups * filters : 1;
    tap = last ? channels : 1;
  }
  // The axes of a number that counts row by row.
  __device__ static void split(int64_t number, const int64_t (&size)[3], int64_t (&at)[3]) {
    at[2] = number % size[2];
    at[1] = number / size[2] % size[1];
    at[0] = number / size[2] / size[1];
  }
  __device__ static int64_t join(const int64_t (&at)[3], const int64_t (&size)[3]) {
    return (at[0] * size[1] + at[1]) * size[2] + at[2];
  }
  // The pixel of the input under a tap where the filter stands; negative outside.
  __device__ int64_t under(const int64_t (&stand)[3], const int64_t (&of)[3]) const {
    int64_t at[3];
    for (int i = 0; i < 3; ++i) {
      at[i] = stand[i] * stride[i] - pad[i] + of[i] * dilate[i];
      if (at[i] < 0 || at[i] >= in[i]) return -1;
    }
    return join(at, in);
  }
  // The pixel of the output that sees an input through a tap; negative if there is none.
  __device__ int64_t reader(const int64_t (&pixel)[3], const int64_t (&of)[3]) const {
    int64_t at[3];
    for (int i = 0; i < 3; ++i) {
      const int64_t from = pixel[i] + pad[i] - of[i] * dilate[i];
      if (from < 0 || from % stride[i] != 0 || from / stride[i] >= out[i]) return -1;
      at[i] = from / stride[i];
    }
    return join(at, out);
  }
};

template <class T>
__global__ void forward_kernel(int64_t count, Place g, const T* data, const T* weight, T* y, bool add) {
  for (const int64_t i : own_items(count)) {
    const int64_t pixel = i % g.out_size, unit = i / g.out_size;
    const int64_t filter = unit % (g.groups * g.filters), image = unit / (g.groups * g.filters);
    const T* from = data + image * g.image_in + filter / g.filters * g.channels * g.channel_in;
    const T* taps = weight + filter * g.filter;
    int64_t stand[3], of[3];
    Place::split(pixel, g.out, stand);
    Accum<T> sum = 0;
    for (int64_t tap = 0; tap < g.taps; ++tap) {
      Place::split(tap, g.kernel, of);
      const int64_t at = g.under(stand, of);
      if (at < 0) continue;
      for (int64_t c = 0; c < g.channels; ++c)
        sum += load(from[c * g.channel_in + at * g.pixel_in]) * load(taps[c * g.channel + tap * g.tap]);
    }
    T& to = y[image * g.image_out + filter * g.channel_out + pixel * g.pixel_out];
    to = store<T>(add ? sum + load(to) : sum);
  }
}

template <class T>
__global__ void data_kernel(int64_t count, Place g, const T* grad, const T* weight, T* y, bool add) {
  for (const int64_t i : own_items(count)) {
    const int64_t pixel = i % g.in_size, unit = i / g.in_size;
    const int64_t channel = unit % (g.groups * g.channels), image = unit / (g.groups * g.channels);
    const int64_t filter = channel / g.channels * g.filters;
    const T* from = grad + image * g.image_out + filter * g.channel_out;
    const T* taps = weight + filter * g.filter + channel % g.channels * g.channel;
    int64_t place[3], of[3];
    Place::split(pixel, g.in, place);
    Accum<T> sum = 0;
    for (int64_t tap = 0; tap < g.taps; ++tap) {
      Place::split(tap, g.kernel, of);
      const int64_t at = g.reader(place, of);
      if (at < 0) continue;
      for (int64_t f = 0; f < g.filters; ++f)
        sum += load(from[f * g.channel_out + at * g.pixel_out]) * load(taps[f * g.filter + tap * g.tap]);
    }
    T& to = y[image * g.image_in + channel * g.channel_in + pixel * g.pixel_in];
    to = store<T>(add ? sum + load(to) : sum);
  }
}

// A block for each element of the weight.
template <class T>
__global__ void weight_kernel(Place g, const T* grad, const T* data, T* y, bool add) {
  const int64_t tap = blockIdx.x % g.taps, unit = blockIdx.x / g.taps;
  const int64_t filter = unit / g.channels, channel = unit % g.channels;
  const int64_t from = filter * g.channel_out;
  const int64_t image = (filter / g.filters * g.channels + channel) * g.channel_in;
  int64_t stand[3], of[3];
  Place::split(tap, g.kernel, of);
  Accum<T> sum = 0;
  for (int64_t i = threadIdx.x; i < g.batch * g.out_size; i += blockDim.x) {
    const int64_t n = i / g.out_size, pixel = i % g.out_size;
    Place::split(pixel, g.out, stand);
    const int64_t at = g.under(stand, of);
    if (at >= 0)
      sum += load(grad[from + n * g.image_out + pixel * g.pixel_out]) *
             load(data[image + n * g.image_in + at * g.pixel_in]);
  }
  sum = merge_block(sum, Accum<T>{0}, Plus{});
  T& to = y[filter * g.filter + channel * g.channel + tap * g.tap];
  if (threadIdx.x == 0) to = store<T>(add ? sum + load(to) : sum);
}

}  // namespace

void direct_convolution(const ConvGeometry& g, ConvPass pass, DType dtype, const void* a, const void* b,
                        void* out, bool add, cudaStream_t stream) {
  dispatch_floating(dtype, "Convolution", [&]<class T>(Type<T>) {
    const auto *left = static_cast<const T*>(a), *right = static_cast<const T*>(b);
    auto* const to = static_cast<T*>(out);
    const Place place(g);
    if (pass == ConvPass::weight) {
      const int64_t count = g.groups * g.filters * g.depth();
      if (count > 0) launch(weight_kernel<T>, {unsigned(count), 128}, stream, place, left, right, to, add);
      return;
    }
    const bool forward = pass == ConvPass::forward;
    const int64_t count =
        g.batch * (forward ? g.groups * g.filters * g.out_size() : g.groups * g.channels * g.in_size());
    if (count > 0)
      launch(forward ? forward_kernel<T> : data_kernel<T>, grid_for(count), stream, count, place, left, right,
             to, add);
  });
}

}  // namespace loomix::cuda
