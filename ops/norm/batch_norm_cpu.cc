// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "engine/parallel_for.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/lane_sums.h"

namespace loomix::ops {
namespace {

// The data as (outer, channels, inner).
struct Channels {
  int64_t outer, count, inner;
  Channels(const BatchNormParams& p, const Shape& shape) {
    const int axis = normalize_axis(p.axis, shape.ndim(), "BatchNorm");
    outer = shape.size_between(0, axis);
    count = shape[axis];
    inner = shape.size_between(axis + 1, shape.ndim());
  }
  int64_t items() const { return outer * inner; }
  // Calls fn(position, length) for each run of consecutive elements of channel c.
  template <class Fn>
  void each_run(int64_t c, Fn&& fn) const {
    for (int64_t o = 0; o < outer; ++o) fn((o * count + c) * inner, inner);
  }
};

constexpr int64_t kElementsPerThread = 16384;

template <class Fn>
void each_channel(const Channels& channels, engine::RunContext& context, Fn&& fn) {
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, channels.items()));
  engine::parallel_for(context, channels.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) fn(c);
  });
}

template <class T, class Fn>
double sum_channel(const Channels& channels, int64_t c, Fn&& fn) {
  using A = Accum<T>;
  double sum = 0;
  channels.each_run(
      c, [&](int64_t first, int64_t length) { sum += static_cast<double>(sum_run<A>(first, length, fn)); });
  return sum;
}

// What the third output holds: 1 / sqrt(variance + eps), and 0 where that would be infinite.
template <class A>
A inverse_deviation(A variance, double eps) {
  const A shifted = variance + static_cast<A>(eps);
  return shifted == 0 ? A{0} : 1 / std::sqrt(shifted);
}
template <class A>
A variance_of(A inverse, double eps) {
  const auto exact = static_cast<double>(inverse);
  return inverse == 0 ? A{0} : static_cast<A>(std::max(1 / (exact * exact) - eps, 0.0));
}

template <class T>
void forward(const BatchNormParams& p, const KernelArgs& args) {
  using A = Accum<T>;
  const Channels channels(p, args.in[0].shape);
  const T* x = args.in[0].as<T>();
  T* y = args.out[0].mutable_as<T>();
  const A* gamma = args.in[1].as<A>();
  const A* beta = args.in[2].as<A>();
  const A* moving_mean = args.in[3].as<A>();
  const A* moving_var = args.in[4].as<A>();
  A* mean_out = args.out[1].data ? args.out[1].mutable_as<A>() : nullptr;
  A* inverse_out = args.out[2].data ? args.out[2].mutable_as<A>() : nullptr;
  const bool by_batch = args.training && !p.use_global_stats;
  each_channel(channels, *args.context, [&](int64_t c) {
    A mean = moving_mean[c];
    A var = moving_var[c];
    if (by_batch && channels.items() > 0) {
      const double count = static_cast<double>(channels.items());
      mean = static_cast<A>(sum_channel<T>(channels, c, [&](int64_t i) { return static_cast<A>(x[i]); }) /
                            count);
      const auto square = [&](int64_t i) {
        const A distance = static_cast<A>(x[i]) - mean;
        return distance * distance;
      };
      var = static_cast<A>(sum_channel<T>(channels, c, square) / count);
    }
    if (mean_out) mean_out[c] = mean;
    const A inverse = inverse_deviation(var, p.eps);
    if (inverse_out) inverse_out[c] = inverse;
    const A scale = (p.fix_gamma ? A{1} : gamma[c]) * inverse;
    const A shift = beta[c] - mean * scale;
    channels.each_run(c, [&](int64_t first, int64_t length) {
      for (int64_t i = first; i < first + length; ++i)
        y[i] = static_cast<T>(static_cast<A>(x[i]) * scale + shift);
    });
  });
}

template <class T>
void backward(const BatchNormParams& p, const KernelArgs& args) {
  using A = Accum<T>;
  const Channels channels(p, args.in[1].shape);
  const T* grad = args.in[0].as<T>();
  const T* x = args.in[1].as<T>();
  const A* means = args.in[2].as<A>();
  const A* inverses = args.in[3].as<A>();
  const A* gamma = args.in[4].as<A>();
  A* fixed_gamma = p.fix_gamma ? args.in[4].mutable_as<A>() : nullptr;
  A* moving_mean = args.in[5].mutable_as<A>();
  A* moving_var = args.in[6].mutable_as<A>();
  const auto wanted = [&](int i) { return args.req[static_cast<size_t>(i)] != Req::null; };
  const bool by_batch = args.training && !p.use_global_stats;
  each_channel(channels, *args.context, [&](int64_t c) {
    const A mean = means[c];
    const A inverse = inverses[c];
    if (fixed_gamma) fixed_gamma[c] = A{1};
    const A sum =
        static_cast<A>(sum_channel<T>(channels, c, [&](int64_t i) { return static_cast<A>(grad[i]); }));
    const A product = static_cast<A>(sum_channel<T>(
        channels, c, [&](int64_t i) { return static_cast<A>(grad[i]) * (static_cast<A>(x[i]) - mean); }));
    if (wanted(0)) {
      T* out = args.out[0].mutable_as<T>();
      const A scale = gamma[c] * inverse;
      const A count = static_cast<A>(channels.items());
      const A constant = by_batch ? sum / count : A{0};
      const A slope = by_batch ? product * inverse * inverse / count : A{0};
      channels.each_run(c, [&](int64_t first, int64_t length) {
        for (int64_t i = first; i < first + length; ++i) {
          out[i] = static_cast<T>(
              scale * (static_cast<A>(grad[i]) - constant - (static_cast<A>(x[i]) - mean) * slope));
        }
      });
    }
    if (wanted(1)) args.out[1].mutable_as<A>()[c] = p.fix_gamma ? A{0} : product * inverse;
    if (wanted(2)) args.out[2].mutable_as<A>()[c] = sum;
    if (by_batch) {
      const A kept = A(p.momentum);
      moving_mean[c] = moving_mean[c] * kept + mean * (1 - kept);
      moving_var[c] = moving_var[c] * kept + variance_of(inverse, p.eps) * (1 - kept);
    }
  });
}

}  // namespace

void batch_norm_cpu(const BatchNormParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.in[0].dtype, "BatchNorm", [&]<class T>(Type<T>) { forward<T>(p, args); });
}

void positive_part_cpu(const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.out[0].dtype, "BatchNormWithReLU", [&]<class T>(Type<T>) {
    T* y = args.out[0].mutable_as<T>();
    uint8_t* mask = args.req[3] == Req::null ? nullptr : args.out[3].mutable_as<uint8_t>();
    engine::parallel_for(*args.context, args.out[0].size(), kElementsPerThread,
                         [=](int64_t begin, int64_t end) {
                           for (int64_t i = begin; i < end; ++i) {
                             const bool positive = static_cast<Accum<T>>(y[i]) > 0;
                             if (!positive) y[i] = T{};
                             if (mask) mask[i] = positive;
                           }
                         });
  });
}

void batch_norm_backward_cpu(const BatchNormParams& p, const KernelArgs& args) {
  dispatch_floating(args.in[1].dtype, "BatchNorm", [&]<class T>(Type<T>) { backward<T>(p, args); });
}

}  // namespace loomix::ops
