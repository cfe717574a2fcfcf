// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "engine/parallel_for.h"
#include "ops/axis_split.h"
#include "ops/lane_sums.h"
#include "ops/norm/batch_norm.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// The data about the axis of its channels.
struct Channels : AxisSplit {
  Channels(const BatchNormParams& p, const Shape& shape) : AxisSplit(shape, p.axis, "BatchNorm") {}
  int64_t items() const { return lines(); }
  // Calls fn(position, length) for each run of consecutive elements of channel c.
  template <class Fn>
  void each_run(int64_t c, Fn&& fn) const {
    for (int64_t o = 0; o < outer; ++o) fn((o * size + c) * inner, inner);
  }
};

constexpr int64_t kElementsPerThread = 16384;
constexpr int64_t kStrip = 256;  // channels that are worked on at once where they are next to each other

// A strip of channels: several where the channels' axis is the last one, else one, whose elements stay in the cache.
struct Strip {
  const Channels& channels;
  int64_t first, count;

  // Calls fn(position, channel) for every element; the channel counts from the first one.
  template <class Fn>
  void each(Fn&& fn) const {
    if (channels.inner == 1) {
      for (int64_t o = 0; o < channels.outer; ++o) {
        const int64_t row = o * channels.size + first;
#pragma omp simd
        for (int64_t c = 0; c < count; ++c) fn(row + c, c);
      }
      return;
    }
    channels.each_run(first, [&](int64_t begin, int64_t length) {
#pragma omp simd
      for (int64_t i = begin; i < begin + length; ++i) fn(i, 0);
    });
  }
  // sums[channel] = sum of fn(position, channel)
  template <class A, class Fn>
  void sum(double* sums, Fn&& fn) const {
    std::fill_n(sums, count, 0.0);
    if (channels.inner == 1) {
      each([&](int64_t at, int64_t c) { sums[c] += static_cast<double>(fn(at, c)); });
      return;
    }
    channels.each_run(first, [&](int64_t begin, int64_t length) {
      sums[0] += static_cast<double>(sum_run<A>(begin, length, [&](int64_t i) { return fn(i, 0); }));
    });
  }
};

template <class Fn>
void each_strip(const Channels& channels, engine::RunContext& context, Fn&& fn) {
  const int64_t grain = kElementsPerThread / std::max<int64_t>(1, channels.items());
  const int64_t most = channels.inner == 1 ? kStrip : 1;
  engine::parallel_for(context, channels.size, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c += most) fn(Strip{channels, c, std::min(most, end - c)});
  });
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

// y = gamma (x - mean) * inverse + beta, for a strip of channels.
template <class T, class A>
void normalize(const BatchNormParams& p, const KernelArgs& args, const Strip& strip, const A* mean,
               const A* inverse) {
  const T* x = args.in[0].as<T>();
  T* y = args.out[0].mutable_as<T>();
  const A* gamma = args.in[1].as<A>() + strip.first;
  const A* beta = args.in[2].as<A>() + strip.first;
  A scales[kStrip], shifts[kStrip];
  for (int64_t c = 0; c < strip.count; ++c) {
    scales[c] = (p.fix_gamma ? A{1} : gamma[c]) * inverse[c];
    shifts[c] = beta[c] - mean[c] * scales[c];
  }
  strip.each(
      [&](int64_t i, int64_t c) { y[i] = static_cast<T>(static_cast<A>(x[i]) * scales[c] + shifts[c]); });
}

template <class T>
void forward(const BatchNormParams& p, const KernelArgs& args) {
  using A = Accum<T>;
  const Channels channels(p, args.in[0].shape);
  const T* x = args.in[0].as<T>();
  const A* moving_mean = args.in[3].as<A>();
  const A* moving_var = args.in[4].as<A>();
  A* mean_out = args.wanted<A>(1);
  A* inverse_out = args.wanted<A>(2);
  const bool by_batch = args.training && !p.use_global_stats;
  each_strip(channels, *args.context, [&](const Strip& strip) {
    A means[kStrip], variances[kStrip], inverses[kStrip];
    std::copy_n(moving_mean + strip.first, strip.count, means);
    std::copy_n(moving_var + strip.first, strip.count, variances);
    if (by_batch && channels.items() > 0) {
      double sums[kStrip];
      const auto take_mean = [&](A* to) {
        for (int64_t c = 0; c < strip.count; ++c)
          to[c] = static_cast<A>(sums[c] / static_cast<double>(channels.items()));
      };
      strip.sum<A>(sums, [&](int64_t i, int64_t) { return static_cast<A>(x[i]); });
      take_mean(means);
      strip.sum<A>(sums, [&](int64_t i, int64_t c) {
        const A distance = static_cast<A>(x[i]) - means[c];
        return distance * distance;
      });
      take_mean(variances);
    }
    for (int64_t c = 0; c < strip.count; ++c) {
      const int64_t channel = strip.first + c;
      if (mean_out) mean_out[channel] = means[c];
      inverses[c] = inverse_deviation(variances[c], p.eps);
      if (inverse_out) inverse_out[channel] = inverses[c];
    }
    normalize<T>(p, args, strip, means, inverses);
  });
}

// The same output once more, from the mean and 1 / sqrt(variance + eps) that were used.
template <class T>
void forward_again(const BatchNormParams& p, const KernelArgs& args) {
  using A = Accum<T>;
  const Channels channels(p, args.in[0].shape);
  const A* mean = args.in[3].as<A>();
  const A* inverse = args.in[4].as<A>();
  each_strip(channels, *args.context, [&](const Strip& strip) {
    normalize<T>(p, args, strip, mean + strip.first, inverse + strip.first);
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
  each_strip(channels, *args.context, [&](const Strip& strip) {
    double sums[kStrip], products[kStrip];
    A mean[kStrip], scales[kStrip], constants[kStrip], slopes[kStrip];
    std::copy_n(means + strip.first, strip.count, mean);
    strip.sum<A>(sums, [&](int64_t i, int64_t) { return static_cast<A>(grad[i]); });
    strip.sum<A>(products, [&](int64_t i, int64_t c) {
      return static_cast<A>(grad[i]) * (static_cast<A>(x[i]) - mean[c]);
    });
    for (int64_t c = 0; c < strip.count; ++c) {
      const int64_t channel = strip.first + c;
      if (fixed_gamma) fixed_gamma[channel] = A{1};
      const A sum = static_cast<A>(sums[c]), product = static_cast<A>(products[c]);
      const A inverse = inverses[channel], count = static_cast<A>(channels.items());
      scales[c] = gamma[channel] * inverse;
      constants[c] = by_batch ? sum / count : A{0};
      slopes[c] = by_batch ? product * inverse * inverse / count : A{0};
      if (wanted(1)) args.out[1].mutable_as<A>()[channel] = p.fix_gamma ? A{0} : product * inverse;
      if (wanted(2)) args.out[2].mutable_as<A>()[channel] = sum;
      if (!by_batch) continue;
      const A kept = A(p.momentum);
      moving_mean[channel] = moving_mean[channel] * kept + mean[c] * (1 - kept);
      moving_var[channel] = moving_var[channel] * kept + variance_of(inverse, p.eps) * (1 - kept);
    }
    if (!wanted(0)) return;
    T* out = args.out[0].mutable_as<T>();
    strip.each([&](int64_t i, int64_t c) {
      out[i] = static_cast<T>(scales[c] * (static_cast<A>(grad[i]) - constants[c] -
                                           (static_cast<A>(x[i]) - mean[c]) * slopes[c]));
    });
  });
}

// data, gamma, beta, moving_mean, moving_var -> output, mean, var: those of the batch in training, else of the moving ones.
// `var` holds 1 / sqrt(variance + eps), as in MXNet.
void batch_norm_cpu(const BatchNormParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.in[0].dtype, "BatchNorm", [&]<class T>(Type<T>) { forward<T>(p, args); });
}

// data, gamma, beta, mean, var (as above) -> output.
void batch_norm_again_cpu(const BatchNormParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.in[0].dtype, "BatchNorm", [&]<class T>(Type<T>) { forward_again<T>(p, args); });
}

// max(output, 0) in place, and where it is positive in `mask`, if that is not null.
void positive_part_cpu(const KernelArgs& args, uint8_t* mask) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.out[0].dtype, "BatchNormWithReLU", [&]<class T>(Type<T>) {
    T* y = args.out[0].mutable_as<T>();
    engine::parallel_each(*args.context, args.out[0].size(), kElementsPerThread, [=](int64_t i) {
      const bool positive = static_cast<Accum<T>>(y[i]) > 0;
      if (!positive) y[i] = T{};
      if (mask) mask[i] = positive;
    });
  });
}

// grad, data, mean, var, gamma, moving_mean, moving_var -> gradients of data, gamma and beta. Here, once for each
// recorded forward pass, the moving averages change, and a fixed gamma is set to 1.
void batch_norm_backward_cpu(const BatchNormParams& p, const KernelArgs& args) {
  dispatch_floating(args.in[1].dtype, "BatchNorm", [&]<class T>(Type<T>) { backward<T>(p, args); });
}

template <class P>
void batch_norm(const P& p, const KernelArgs& args) {
  batch_norm_cpu(full_params(p), args);
}
void batch_norm_relu(const BatchNormReluParams& p, const KernelArgs& args) {
  batch_norm_cpu(p, args);
  positive_part_cpu(args, args.req[3] == Req::null ? nullptr : args.out[3].mutable_as<uint8_t>());
}
template <class P>
void batch_norm_again(const P& p, const KernelArgs& args) {
  batch_norm_again_cpu(full_params(p), args);
}
void batch_norm_relu_again(const BatchNormReluParams& p, const KernelArgs& args) {
  batch_norm_again_cpu(p, args);
  positive_part_cpu(args, nullptr);
}
template <class P>
void batch_norm_backward(const P& p, const KernelArgs& args) {
  batch_norm_backward_cpu(full_params(p), args);
}

template <class P>
void add_batch_norm_backward(OpTable& table, const std::string& name) {
  for (const char* ending : {"", "_free_gamma"})
    table.kernel<batch_norm_backward<P>>("_backward_" + name + ending, "batch_norm_backward_cpu");
}

}  // namespace

void kernels_batch_norm(OpTable& table) {
  table.kernel<batch_norm<BatchNormParams>>("BatchNorm", "batch_norm_cpu");
  table.kernel<batch_norm<BatchNormV1Params>>("BatchNorm_v1", "batch_norm_cpu");
  table.kernel<batch_norm<SyncBatchNormParams>>("_contrib_SyncBatchNorm", "batch_norm_cpu");
  table.kernel<batch_norm_relu>("_contrib_BatchNormWithReLU", "batch_norm_relu_cpu");
}

void gradients_batch_norm(OpTable& table) {
  add_batch_norm_backward<BatchNormParams>(table, "BatchNorm");
  add_batch_norm_backward<BatchNormV1Params>(table, "BatchNorm_v1");
  add_batch_norm_backward<SyncBatchNormParams>(table, "SyncBatchNorm");
  add_batch_norm_backward<BatchNormReluParams>(table, "BatchNormWithReLU");
  table.kernel<batch_norm_again<BatchNormParams>>("_BatchNorm_again", "batch_norm_again_cpu");
  table.kernel<batch_norm_again<BatchNormV1Params>>("_BatchNorm_v1_again", "batch_norm_again_cpu");
  table.kernel<batch_norm_again<SyncBatchNormParams>>("_SyncBatchNorm_again", "batch_norm_again_cpu");
  table.kernel<batch_norm_relu_again>("_BatchNormWithReLU_again", "batch_norm_relu_again_cpu");
}

}  // namespace loomix::ops
