// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/conv/convolution.h"

namespace loomix::ops {
namespace {

// Where elements stand, for both orders of axes.
struct Strides {
  int64_t image_in, channel_in, pixel_in;
  int64_t image_out, channel_out, pixel_out;
  int64_t filter, channel, tap;

  explicit Strides(const ConvGeometry& g) {
    const int64_t channels = g.channels * g.groups;
    const int64_t filters = g.filters * g.groups;
    image_in = channels * g.in_size();
    image_out = filters * g.out_size();
    filter = g.depth();
    if (g.channels_last) {
      channel_in = channel_out = channel = 1;
      pixel_in = channels;
      pixel_out = filters;
      tap = g.channels;
    } else {
      channel_in = g.in_size();
      channel_out = g.out_size();
      channel = g.kernel_size();
      pixel_in = pixel_out = tap = 1;
    }
  }
};

// Calls fn(input pixel, tap of the filter) for every tap that lies on the data when the filter stands at (d, h, w).
template <class Fn>
void each_tap(const ConvGeometry& g, int64_t d, int64_t h, int64_t w, Fn&& fn) {
  int64_t tap = 0;
  for (int64_t i = 0; i < g.kernel[0]; ++i) {
    for (int64_t j = 0; j < g.kernel[1]; ++j) {
      for (int64_t k = 0; k < g.kernel[2]; ++k, ++tap) {
        const int64_t z = d * g.stride[0] - g.pad[0] + i * g.dilate[0];
        const int64_t y = h * g.stride[1] - g.pad[1] + j * g.dilate[1];
        const int64_t x = w * g.stride[2] - g.pad[2] + k * g.dilate[2];
        if (z < 0 || z >= g.in[0] || y < 0 || y >= g.in[1] || x < 0 || x >= g.in[2]) continue;
        fn((z * g.in[1] + y) * g.in[2] + x, tap);
      }
    }
  }
}

// Calls fn(output pixel, tap) for every output that sees the input pixel, and the tap it does so with.
template <class Fn>
void each_reader(const ConvGeometry& g, int64_t pixel, Fn&& fn) {
  const int64_t at[] = {pixel / (g.in[1] * g.in[2]), pixel / g.in[2] % g.in[1], pixel % g.in[2]};
  const auto reader = [&](int axis, int64_t tap) {  // where the filter stands, or -1
    const int64_t from = at[axis] + g.pad[axis] - tap * g.dilate[axis];
    const bool stands = from >= 0 && from % g.stride[axis] == 0 && from / g.stride[axis] < g.out[axis];
    return stands ? from / g.stride[axis] : -1;
  };
  int64_t tap = 0;
  for (int64_t i = 0; i < g.kernel[0]; ++i) {
    for (int64_t j = 0; j < g.kernel[1]; ++j) {
      for (int64_t k = 0; k < g.kernel[2]; ++k, ++tap) {
        const int64_t d = reader(0, i), h = reader(1, j), w = reader(2, k);
        if (d >= 0 && h >= 0 && w >= 0) fn((d * g.out[1] + h) * g.out[2] + w, tap);
      }
    }
  }
}

// Calls fn(input pixel, output pixel) wherever the tap lies on the data.
template <class Fn>
void each_meeting(const ConvGeometry& g, int64_t tap, Fn&& fn) {
  const int64_t taps[] = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1],
                          tap % g.kernel[2]};
  const auto source = [&](int axis, int64_t stand) {
    return stand * g.stride[axis] - g.pad[axis] + taps[axis] * g.dilate[axis];
  };
  for (int64_t d = 0; d < g.out[0]; ++d) {
    const int64_t z = source(0, d);
    if (z < 0 || z >= g.in[0]) continue;
    for (int64_t h = 0; h < g.out[1]; ++h) {
      const int64_t y = source(1, h);
      if (y < 0 || y >= g.in[1]) continue;
      for (int64_t w = 0; w < g.out[2]; ++w) {
        const int64_t x = source(2, w);
        if (x < 0 || x >= g.in[2]) continue;
        fn((z * g.in[1] + y) * g.in[2] + x, (d * g.out[1] + h) * g.out[2] + w);
      }
    }
  }
}

template <class Fn>
void each_pixel(const ConvGeometry& g, Fn&& fn) {
  int64_t pixel = 0;
  for (int64_t d = 0; d < g.out[0]; ++d) {
    for (int64_t h = 0; h < g.out[1]; ++h) {
      for (int64_t w = 0; w < g.out[2]; ++w, ++pixel) fn(d, h, w, pixel);
    }
  }
}

template <class T>
void forward(const ConvGeometry& g, const T* data, const T* weight, const T* bias, T* out,
             engine::RunContext& context) {
  using A = Accum<T>;
  const Strides s(g);
  const int64_t filters = g.groups * g.filters;
  engine::parallel_each(context, g.batch * filters, 1, [&](int64_t unit) {
    const int64_t filter = unit % filters;
    const T* image = data + unit / filters * s.image_in + filter / g.filters * g.channels * s.channel_in;
    const T* taps = weight + filter * s.filter;
    T* to = out + unit / filters * s.image_out + filter * s.channel_out;
    each_pixel(g, [&](int64_t d, int64_t h, int64_t w, int64_t pixel) {
      A sum = bias ? static_cast<A>(bias[filter]) : A{0};
      each_tap(g, d, h, w, [&](int64_t from, int64_t tap) {
        for (int64_t c = 0; c < g.channels; ++c) {
          sum += static_cast<A>(image[c * s.channel_in + from * s.pixel_in]) *
                 static_cast<A>(taps[c * s.channel + tap * s.tap]);
        }
      });
      to[pixel * s.pixel_out] = static_cast<T>(sum);
    });
  });
}

// Each element adds up what the outputs that saw it send back.
template <class T>
void to_data(const ConvGeometry& g, const T* grad, const T* weight, const T* bias, T* out,
             engine::RunContext& context) {
  using A = Accum<T>;
  const Strides s(g);
  const int64_t channels = g.groups * g.channels;
  engine::parallel_each(context, g.batch * channels, 1, [&](int64_t unit) {
    const int64_t channel = unit % channels;
    const int64_t filter = channel / g.channels * g.filters;
    const T* from = grad + unit / channels * s.image_out + filter * s.channel_out;
    const T* taps = weight + filter * s.filter + channel % g.channels * s.channel;
    T* to = out + unit / channels * s.image_in + channel * s.channel_in;
    for (int64_t pixel = 0; pixel < g.in_size(); ++pixel) {
      A sum = bias ? static_cast<A>(bias[channel]) : A{0};
      each_reader(g, pixel, [&](int64_t reader, int64_t tap) {
        for (int64_t f = 0; f < g.filters; ++f) {
          sum += static_cast<A>(from[f * s.channel_out + reader * s.pixel_out]) *
                 static_cast<A>(taps[f * s.filter + tap * s.tap]);
        }
      });
      to[pixel * s.pixel_in] = static_cast<T>(sum);
    }
  });
}

template <class T>
void to_weight(const ConvGeometry& g, const T* grad, const T* data, T* out, bool add,
               engine::RunContext& context) {
  using A = Accum<T>;
  const Strides s(g);
  engine::parallel_each(context, g.groups * g.filters * g.channels, 1, [&](int64_t unit) {
    const int64_t filter = unit / g.channels, channel = unit % g.channels;
    const int64_t from = filter * s.channel_out;
    const int64_t image = (filter / g.filters * g.channels + channel) * s.channel_in;
    T* to = out + filter * s.filter + channel * s.channel;
    for (int64_t tap = 0; tap < g.kernel_size(); ++tap) {
      A sum = add ? static_cast<A>(to[tap * s.tap]) : A{0};
      for (int64_t n = 0; n < g.batch; ++n) {
        each_meeting(g, tap, [&](int64_t in_pixel, int64_t out_pixel) {
          sum += static_cast<A>(grad[from + n * s.image_out + out_pixel * s.pixel_out]) *
                 static_cast<A>(data[image + n * s.image_in + in_pixel * s.pixel_in]);
        });
      }
      to[tap * s.tap] = static_cast<T>(sum);
    }
  });
}

}  // namespace

void conv_forward_cpu(const ConvGeometry& g, const ConvOperands& from, const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "Convolution", [&]<class T>(Type<T>) {
    forward(g, from.a.as<T>(), from.b.as<T>(), from.bias ? from.bias->as<T>() : nullptr,
            args.out[0].mutable_as<T>(), *args.context);
  });
}

void conv_data_cpu(const ConvGeometry& g, const ConvOperands& from, const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "Convolution", [&]<class T>(Type<T>) {
    to_data(g, from.a.as<T>(), from.b.as<T>(), from.bias ? from.bias->as<T>() : nullptr,
            args.out[0].mutable_as<T>(), *args.context);
  });
}

void conv_weight_cpu(const ConvGeometry& g, const ConvOperands& from, const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "Convolution", [&]<class T>(Type<T>) {
    to_weight(g, from.a.as<T>(), from.b.as<T>(), args.out[0].mutable_as<T>(), args.req[0] == Req::add,
              *args.context);
  });
}

void convolution_bias_cpu(const ConvolutionParams& p, const KernelArgs& args) {
  const TensorView& grad = args.in[0];
  const bool last = channels_last(p.layout);
  const int64_t filters = p.num_filter;
  const int64_t batch = grad.shape[0];
  const int64_t pixels = grad.shape.size_between(1, grad.shape.ndim()) / filters;
  dispatch_floating(grad.dtype, "Convolution", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* from = grad.as<T>();
    T* out = args.out[0].mutable_as<T>();
    const int64_t grain = 16384 / std::max<int64_t>(1, batch * pixels);
    engine::parallel_each(*args.context, filters, grain, [&](int64_t filter) {
      A sum = args.req[0] == Req::add ? static_cast<A>(out[filter]) : A{0};
      for (int64_t n = 0; n < batch; ++n) {
        const T* plane = from + n * filters * pixels + (last ? filter : filter * pixels);
        const int64_t step = last ? filters : 1;
        A part[8] = {};  // independent sums, so that they are added side by side
        int64_t i = 0;
        for (; i + 8 <= pixels; i += 8) {
          for (int64_t lane = 0; lane < 8; ++lane) part[lane] += static_cast<A>(plane[(i + lane) * step]);
        }
        for (; i < pixels; ++i) part[0] += static_cast<A>(plane[i * step]);
        for (A value : part) sum += value;
      }
      out[filter] = static_cast<T>(sum);
    });
  });
}

}  // namespace loomix::ops
