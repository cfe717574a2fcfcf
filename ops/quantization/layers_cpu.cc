// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/limits.h"
#include "ops/linear/fully_connected.h"
#include "ops/quantization/layer_sums.h"
#include "ops/quantization/product_range.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using engine::parallel_for;

// ---- convolution ----

void quantized_conv_cpu(const ConvolutionParams& p, const KernelArgs& args) {
  const ProductRange range(args, !p.no_bias, "_contrib_quantized_conv");
  auto* out = args.wanted<int32_t>(0);
  if (!out) return;
  const ConvGeometry g(p, args.in[0].shape);
  const int64_t filters = g.groups * g.filters;
  const Steps to(filters, g.out, g.channels_last);
  dispatch_bytes(args.in[0].dtype, [&]<class T>(Type<T>) {
    const ConvLoop<T> loop{g, args.in[0].as<T>(), args.in[1].as<int8_t>()};
    parallel_for(*args.context, g.batch * filters, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / filters, filter = i % filters;
        const auto close = range.row(filter);
        int32_t* const rows = out + image * to.image + filter * to.channel;
        int64_t place[3];
        for (place[0] = 0; place[0] < g.out[0]; ++place[0])
          for (place[1] = 0; place[1] < g.out[1]; ++place[1])
            for (place[2] = 0; place[2] < g.out[2]; ++place[2])
              rows[place[0] * to.place[0] + place[1] * to.place[1] + place[2] * to.place[2]] =
                  close(loop.at(image, filter, place));
      }
    });
  });
}

void quantized_fc_cpu(const FullyConnectedParams& p, const KernelArgs& args) {
  const ProductRange range(args, !p.no_bias, "_contrib_quantized_fully_connected");
  auto* out = args.wanted<int32_t>(0);
  if (!out) return;
  const int64_t columns = args.in[1].shape[1], hidden = p.num_hidden;
  dispatch_bytes(args.in[0].dtype, [&]<class T>(Type<T>) {
    const T* data = args.in[0].as<T>();
    const auto* weight = args.in[1].as<int8_t>();
    parallel_for(*args.context, args.out[0].size(), 16, [=, &range](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* x = data + i / hidden * columns;
        const int8_t* w = weight + i % hidden * columns;
        int32_t sum = 0;
        for (int64_t k = 0; k < columns; ++k) sum += int32_t{x[k]} * int32_t{w[k]};
        out[i] = range.row(i % hidden)(sum);
      }
    });
  });
}

// ---- what moves ----

constexpr int64_t kWidestRow = 4096;

// The part of an axis that window i covers.
struct Window {
  int64_t begin, end;
  Window(const PoolGeometry& g, int axis, int64_t i) {
    const int64_t first = i * g.stride[axis] - g.pad[axis];
    begin = std::max<int64_t>(first, 0);
    end = std::min(first + g.kernel[axis], g.in[axis]);
  }
};

// Maxima of a plane whose rows are contiguous: first down the columns, by vectors, then along the row.
template <class T>
void largest_of_plane(const PoolGeometry& g, const T* plane, T* out) {
  T columns[kWidestRow];
  const int64_t width = g.in[2];
  for (int64_t z = 0; z < g.out[0]; ++z)
    for (int64_t y = 0; y < g.out[1]; ++y, out += g.out[2]) {
      std::fill_n(columns, width, std::numeric_limits<T>::lowest());
      const Window depth(g, 0, z), height(g, 1, y);
      for (int64_t d = depth.begin; d < depth.end; ++d)
        for (int64_t h = height.begin; h < height.end; ++h) {
          const T* const row = plane + (d * g.in[1] + h) * width;
          for (int64_t w = 0; w < width; ++w) columns[w] = std::max(columns[w], row[w]);
        }
      for (int64_t x = 0; x < g.out[2]; ++x) {
        T most = std::numeric_limits<T>::lowest();
        const Window span(g, 2, x);
        for (int64_t w = span.begin; w < span.end; ++w) most = std::max(most, columns[w]);
        out[x] = most;
      }
    }
}

void pass_range(const KernelArgs& args, const char* who) { put_range(args, range_at(args, 1, who)); }

void quantized_pooling_cpu(const PoolingParams& p, const KernelArgs& args) {
  pass_range(args, "_contrib_quantized_pooling");
  if (args.req[0] == Req::null) return;
  const PoolGeometry g(p, args.in[0].shape);
  const Steps from(g.channels, g.in, g.channels_last), to(g.channels, g.out, g.channels_last);
  const bool is_max = p.pool_type == PoolType::max;
  dispatch_bytes(args.in[0].dtype, [&]<class T>(Type<T>) {
    const T* data = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    if (is_max && !g.channels_last && g.in[2] <= kWidestRow) {
      return parallel_for(*args.context, g.batch * g.channels, 4, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          largest_of_plane(g, data + i * g.in_size(), out + i * g.out_size());
      });
    }
    parallel_for(*args.context, g.batch * g.channels, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / g.channels, channel = i % g.channels;
        const T* plane = data + image * from.image + channel * from.channel;
        T* rows = out + image * to.image + channel * to.channel;
        int64_t place[3];
        for (place[0] = 0; place[0] < g.out[0]; ++place[0])
          for (place[1] = 0; place[1] < g.out[1]; ++place[1])
            for (place[2] = 0; place[2] < g.out[2]; ++place[2])
              rows[place[0] * to.place[0] + place[1] * to.place[1] + place[2] * to.place[2]] =
                  pool_at(g, plane, place, from.place, is_max, p.count_include_pad.value_or(true));
      }
    });
  });
}

void quantized_act_cpu(const KernelArgs& args) {
  pass_range(args, "_contrib_quantized_act");
  if (args.req[0] == Req::null) return;
  dispatch_bytes(args.in[0].dtype, [&]<class T>(Type<T>) {
    const T* data = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    for (int64_t i = 0; i < args.out[0].size(); ++i) out[i] = std::max(data[i], T(0));
  });
}

void quantized_flatten_cpu(const KernelArgs& args) {
  pass_range(args, "_contrib_quantized_flatten");
  if (args.req[0] != Req::null && args.out[0].data != args.in[0].data)
    std::memcpy(args.out[0].data, args.in[0].data, static_cast<size_t>(args.in[0].size()));
}

void quantized_embedding_cpu(const QuantizedEmbeddingParams& p, const KernelArgs& args) {
  put_range(args, range_at(args, 2, "_contrib_quantized_embedding"));
  auto* out = args.wanted<int8_t>(0);
  if (!out) return;
  const auto* weight = args.in[1].as<int8_t>();
  dispatch_numeric(args.in[0].dtype, "_contrib_quantized_embedding", [&]<class T>(Type<T>) {
    for (int64_t i = 0; i < args.in[0].size(); ++i) {
      const double number =
          std::clamp(static_cast<double>(args.in[0].as<T>()[i]), 0.0, static_cast<double>(p.input_dim - 1));
      const auto row = std::isnan(number) ? 0 : static_cast<int64_t>(number);
      std::memcpy(out + i * p.output_dim, weight + row * p.output_dim, static_cast<size_t>(p.output_dim));
    }
  });
}

void quantized_concat_cpu(const QuantizedConcatParams& p, const KernelArgs& args) {
  const auto count = static_cast<size_t>(p.num_args);
  Range all = range_at(args, count, "_contrib_quantized_concat");
  for (size_t i = 1; i < count; ++i) {
    const Range own = range_at(args, count + 2 * i, "_contrib_quantized_concat");
    all = {std::min(all.low, own.low), std::max(all.high, own.high)};
  }
  put_range(args, all);
  if (args.req[0] == Req::null) return;
  const Shape& shape = args.out[0].shape;
  const int axis = normalize_axis(p.dim, shape.ndim(), "_contrib_quantized_concat");
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.ndim(); ++i) inner *= shape[i];
  const double per = per_step(all.step(args.out[0].dtype));
  int64_t before = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t row = args.in[i].shape[axis] * inner, out_row = shape[axis] * inner;
    const Range own = range_at(args, count + 2 * i, "_contrib_quantized_concat");
    const auto factor = static_cast<float>(own.step(args.in[i].dtype) * per);
    dispatch_bytes(args.in[i].dtype, [&]<class From>(Type<From>) {
      dispatch_bytes(args.out[0].dtype, [&]<class To>(Type<To>) {
        To* out = args.out[0].mutable_as<To>() + before;
        const From* data = args.in[i].as<From>();
        for (int64_t k = 0; k < outer; ++k)
          for (int64_t j = 0; j < row; ++j)
            out[k * out_row + j] = to_whole<To>(static_cast<float>(data[k * row + j]) * factor);
      });
    });
    before += row;
  }
}

// ---- arithmetic ----

// fn(a, b) of each pair as real numbers, in the output's step. Sums of 32 bits need more than float32.
template <class Fn>
void combine(const KernelArgs& args, double a_step, double b_step, double out_step, Fn&& fn) {
  if (args.req[0] == Req::null) return;
  const double per = per_step(out_step);
  const int64_t grain = work_limits().quantized_elements;
  dispatch_bytes(args.in[0].dtype, [&]<class A>(Type<A>) {
    dispatch_bytes(args.in[1].dtype, [&]<class B>(Type<B>) {
      const A* a = args.in[0].as<A>();
      const B* b = args.in[1].as<B>();
      const auto each = [&]<class Real>(Type<Real>, auto* out, auto&& finish) {
        const auto of_a = static_cast<Real>(a_step), of_b = static_cast<Real>(b_step),
                   by = static_cast<Real>(per);
        parallel_for(*args.context, args.out[0].size(), grain, [=](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            out[i] = finish(fn(static_cast<Real>(a[i]) * of_a, static_cast<Real>(b[i]) * of_b) * by);
        });
      };
      const TensorView& out = args.out[0];
      if (out.dtype == DType::float32)
        each(Type<float>{}, out.mutable_as<float>(), [](float x) { return x; });
      else if (out.dtype == DType::int32) each(Type<double>{}, out.mutable_as<int32_t>(), to_sum);
      else if (out.dtype == DType::int8) each(Type<float>{}, out.mutable_as<int8_t>(), to_whole<int8_t>);
      else each(Type<float>{}, out.mutable_as<uint8_t>(), to_whole<uint8_t>);
    });
  });
}

void quantized_add_cpu(const QuantizedAddParams& p, const KernelArgs& args) {
  constexpr const char* kWho = "_contrib_quantized_elemwise_add";
  const Range a = range_at(args, 2, kWho), b = range_at(args, 4, kWho);
  const float sum = a.reach() + b.reach();
  const Range out =
      p.is_calibrated() ? checked_range(*p.min_calib_range, *p.max_calib_range, kWho) : Range{-sum, sum};
  put_range(args, out);
  combine(args, a.step(args.in[0].dtype), b.step(args.in[1].dtype), out.step(args.out[0].dtype),
          [](auto x, auto y) { return x + y; });
}

void quantized_mul_cpu(const QuantizedMulParams& p, const KernelArgs& args) {
  constexpr const char* kWho = "_contrib_quantized_elemwise_mul";
  const double a = range_at(args, 2, kWho).step(DType::int8), b = range_at(args, 4, kWho).step(DType::int8);
  double step = 1;
  if (!p.enable_float_output) {
    const auto reach = static_cast<float>(a * b * largest_of(DType::int32));
    const Range out = p.is_calibrated() ? checked_range(*p.min_calib_range, *p.max_calib_range, kWho)
                                        : Range{-reach, reach};
    put_range(args, out);
    step = p.is_calibrated() ? out.step(DType::int8) : a * b;
  }
  combine(args, a, b, step, [](auto x, auto y) { return x * y; });
}

void quantized_batch_norm_cpu(const BatchNormParams& p, const KernelArgs& args) {
  constexpr const char* kWho = "_contrib_quantized_batch_norm";
  const double step = range_at(args, 5, kWho).step(args.in[0].dtype);
  const Range range = checked_range(*p.min_calib_range, *p.max_calib_range, kWho);
  put_range(args, range);
  if (args.req[0] == Req::null) return;
  const Shape& shape = args.in[0].shape;
  const int axis = normalize_axis(p.axis, shape.ndim(), kWho);
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.ndim(); ++i) inner *= shape[i];
  const double per = per_step(range.step(DType::int8));
  const int64_t channels = shape[axis];
  auto* out = args.out[0].mutable_as<int8_t>();
  dispatch_bytes(args.in[0].dtype, [&]<class T>(Type<T>) {
    const T* data = args.in[0].as<T>();
    parallel_for(*args.context, inner == 0 ? 0 : args.in[0].size() / inner, 16,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t c = i % channels;
                     const double gamma = p.fix_gamma ? 1.0 : args.in[1].as<float>()[c];
                     const double scale = gamma / std::sqrt(args.in[4].as<float>()[c] + p.eps);
                     const double shift = args.in[2].as<float>()[c] - args.in[3].as<float>()[c] * scale;
                     for (int64_t k = i * inner; k < (i + 1) * inner; ++k)
                       out[k] = to_whole<int8_t>(static_cast<float>((data[k] * step * scale + shift) * per));
                   }
                 });
  });
}

}  // namespace

void kernels_quantized_layers(OpTable& table) {
  table.kernel<quantized_conv_cpu>("_contrib_quantized_conv", "quantized_conv_cpu");
  table.kernel<quantized_fc_cpu>("_contrib_quantized_fully_connected", "quantized_fc_cpu");
  table.kernel<quantized_pooling_cpu>("_contrib_quantized_pooling", "quantized_pooling_cpu");
  table.kernel<quantized_act_cpu>("_contrib_quantized_act", "quantized_act_cpu");
  table.kernel<quantized_flatten_cpu>("_contrib_quantized_flatten", "quantized_flatten_cpu");
  table.kernel<quantized_embedding_cpu>("_contrib_quantized_embedding", "quantized_embedding_cpu");
  table.kernel<quantized_concat_cpu>("_contrib_quantized_concat", "quantized_concat_cpu");
  table.kernel<quantized_add_cpu>("_contrib_quantized_elemwise_add", "quantized_add_cpu");
  table.kernel<quantized_mul_cpu>("_contrib_quantized_elemwise_mul", "quantized_mul_cpu");
  table.kernel<quantized_batch_norm_cpu>("_contrib_quantized_batch_norm", "quantized_batch_norm_cpu");
}

}  // namespace loomix::ops
