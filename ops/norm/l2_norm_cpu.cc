// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/l2_norm.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "engine/parallel_for.h"
#include "ops/elemwise/binary.h"
#include "ops/elemwise/unary.h"
#include "ops/lane_sums.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 8192;

// Groups of `size` elements, `step` apart; group r starts at (r / step) * size * step + r % step.
struct Groups {
  int64_t count, size, step;
  int64_t first(int64_t r) const { return r / step * size * step + r % step; }
};

Groups groups_of(const L2NormalizationParams& p, const Shape& data) {
  if (p.mode == L2Mode::instance) return {data[0], data.size_between(1, data.ndim()), 1};
  const int64_t places = data.size_between(2, data.ndim());
  if (p.mode == L2Mode::spatial) return {data[0] * data[1], places, 1};
  return {data[0] * places, data[1], places};
}

template <class Fn>
void each_group(const Groups& groups, const KernelArgs& args, Fn&& fn) {
  const int64_t grain = kElementsPerThread / std::max<int64_t>(1, groups.size);
  engine::parallel_each(*args.context, groups.count, grain, [&](int64_t r) { fn(r, groups.first(r)); });
}

// Calls fn(step) with a step of 1 known to the compiler.
template <class Fn>
void with_step(const Groups& groups, Fn&& fn) {
  if (groups.step == 1) fn(std::integral_constant<int64_t, 1>{});
  else fn(groups.step);
}

// fn(channel, first element, number of places) for each channel of data (N, C, H, W).
template <class Fn>
void each_channel(const Shape& data, const KernelArgs& args, Fn&& fn) {
  const int64_t places = data[2] * data[3];
  const int64_t grain = kElementsPerThread / std::max<int64_t>(1, places);
  engine::parallel_each(*args.context, data[0] * data[1], grain,
                        [&](int64_t r) { fn(r % data[1], r * places, places); });
}

struct Window {
  int64_t begin, end;  // channels
};
Window window(const LRNParams& p, const Shape& data, int64_t channel) {
  const int64_t reach = p.nsize / 2;
  return {std::max<int64_t>(0, channel - reach), std::min(data[1], channel + reach + 1)};
}

// data -> output, norm of each group.
void l2_normalization_cpu(const L2NormalizationParams& p, const KernelArgs& args) {
  const Groups groups = groups_of(p, args.in[0].shape);
  dispatch_floating(args.in[0].dtype, "L2Normalization", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* x = args.in[0].as<T>();
    T* y = args.wanted<T>(0);
    T* norms = args.wanted<T>(1);
    with_step(groups, [&](auto step) {
      each_group(groups, args, [&](int64_t r, int64_t first) {
        const A squares = sum_run<A>(0, groups.size, [&](int64_t i) {
          const A item = static_cast<A>(x[first + i * step]);
          return item * item;
        });
        const A norm = std::sqrt(static_cast<A>(p.eps) + squares);
        if (norms) norms[r] = static_cast<T>(norm);
        if (y == nullptr) return;
#pragma omp simd
        for (int64_t i = 0; i < groups.size; ++i)
          y[first + i * step] = static_cast<T>(static_cast<A>(x[first + i * step]) / norm);
      });
    });
  });
}

// grad, output, norm -> gradient of data.
void backward_l2_normalization_cpu(const L2NormalizationParams& p, const KernelArgs& args) {
  const Groups groups = groups_of(p, args.in[0].shape);
  dispatch_floating(args.in[0].dtype, "L2Normalization", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* grad = args.in[0].as<T>();
    const T* y = args.in[1].as<T>();
    const T* norms = args.in[2].as<T>();
    T* out = args.out[0].mutable_as<T>();
    with_step(groups, [&](auto step) {
      each_group(groups, args, [&](int64_t r, int64_t first) {
        const A product = sum_run<A>(0, groups.size, [&](int64_t i) {
          return static_cast<A>(grad[first + i * step]) * static_cast<A>(y[first + i * step]);
        });
        const A norm = static_cast<A>(norms[r]);
#pragma omp simd
        for (int64_t i = 0; i < groups.size; ++i) {
          const int64_t at = first + i * step;
          out[at] = static_cast<T>((static_cast<A>(grad[at]) - static_cast<A>(y[at]) * product) / norm);
        }
      });
    });
  });
}

constexpr int64_t kPlaces = 512;  // of a channel that are worked on at once

constexpr int kAtOnce = 4;  // channels whose squares are added to the sums at once

template <int channels, class T, class A>
void add_squares(const T* from, int64_t plane, A* sums, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    A sum = sums[i];
#pragma GCC unroll 4
    for (int c = 0; c < channels; ++c) {
      const A x = static_cast<A>(from[c * plane + i]);
      sum += x * x;
    }
    sums[i] = sum;
  }
}

// y = x^-beta: by square roots for the usual beta of 0.75, several times as fast.
template <class A>
void power_row(double beta, const A* x, A* y, int64_t count) {
  constexpr DType kType = dtype_of<A>();
  if (beta == 0.75) {
    unary_row(unary_code<fn::Sqrt>, kType, x, y, count);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] *= x[i];
    return unary_row(unary_code<fn::Rsqrt>, kType, y, y, count);
  }
  const A exponent = -static_cast<A>(beta);
  binary_row(binary_code<fn::Power>, kType, Spread::right, x, &exponent, y, count);
}

// Calls fn(channel, first element, number of places) for pieces of each channel.
template <class Fn>
void each_piece(const Shape& data, const KernelArgs& args, Fn&& fn) {
  each_channel(data, args, [&](int64_t channel, int64_t first, int64_t places) {
    for (int64_t i = 0; i < places; i += kPlaces) fn(channel, first + i, std::min(kPlaces, places - i));
  });
}

// data -> output, denominator before the power.
void lrn_cpu(const LRNParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  dispatch_floating(args.in[0].dtype, "LRN", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* x = args.in[0].as<T>();
    T* y = args.wanted<T>(0);
    T* denominators = args.wanted<T>(1);
    const A factor = static_cast<A>(p.alpha) / static_cast<A>(p.nsize);
    const int64_t plane = shape[2] * shape[3];
    each_piece(shape, args, [&](int64_t channel, int64_t first, int64_t places) {
      const Window around = window(p, shape, channel);
      A denominator[kPlaces] = {}, power[kPlaces] = {};
      for (int64_t c = around.begin; c < around.end; c += kAtOnce) {
        const T* const from = x + first + (c - channel) * plane;
        if (c + kAtOnce <= around.end) add_squares<kAtOnce>(from, plane, denominator, places);
        else
          for (int64_t rest = 0; rest < around.end - c; ++rest)
            add_squares<1>(from + rest * plane, plane, denominator, places);
      }
      const A constant = static_cast<A>(p.knorm);
#pragma omp simd
      for (int64_t i = 0; i < places; ++i) denominator[i] = constant + factor * denominator[i];
      for (int64_t i = 0; denominators && i < places; ++i)
        denominators[first + i] = static_cast<T>(denominator[i]);
      if (y == nullptr) return;
      power_row(p.beta, denominator, power, places);
#pragma omp simd
      for (int64_t i = 0; i < places; ++i)
        y[first + i] = static_cast<T>(static_cast<A>(x[first + i]) * power[i]);
    });
  });
}

// grad, data, output, denominator -> gradient of data.
void backward_lrn_cpu(const LRNParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  dispatch_floating(args.in[0].dtype, "LRN", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* grad = args.in[0].as<T>();
    const T* x = args.in[1].as<T>();
    const T* y = args.in[2].as<T>();
    const T* denominators = args.in[3].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const A factor = 2 * static_cast<A>(p.alpha) * static_cast<A>(p.beta) / static_cast<A>(p.nsize);
    const int64_t plane = shape[2] * shape[3];
    each_piece(shape, args, [&](int64_t channel, int64_t first, int64_t places) {
      const Window around = window(p, shape, channel);
      A spread[kPlaces] = {}, power[kPlaces] = {};
      for (int64_t c = around.begin; c < around.end; ++c) {
        const int64_t from = first + (c - channel) * plane;
#pragma omp simd
        for (int64_t i = 0; i < places; ++i) {
          spread[i] += static_cast<A>(grad[from + i]) * static_cast<A>(y[from + i]) /
                       static_cast<A>(denominators[from + i]);
        }
      }
      A denominator[kPlaces] = {};
      for (int64_t i = 0; i < places; ++i) denominator[i] = static_cast<A>(denominators[first + i]);
      power_row(p.beta, denominator, power, places);
#pragma omp simd
      for (int64_t i = 0; i < places; ++i) {
        const A direct = static_cast<A>(grad[first + i]) * power[i];
        out[first + i] = static_cast<T>(direct - factor * static_cast<A>(x[first + i]) * spread[i]);
      }
    });
  });
}

}  // namespace

void kernels_l2_norm(OpTable& table) {
  table.kernel<l2_normalization_cpu>("L2Normalization", "l2_normalization_cpu");
  table.kernel<backward_l2_normalization_cpu>("_backward_L2Normalization", "backward_l2_normalization_cpu");
  table.kernel<lrn_cpu>("LRN", "lrn_cpu");
  table.kernel<backward_lrn_cpu>("_backward_LRN", "backward_lrn_cpu");
}

}  // namespace loomix::ops
