// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/l2_norm.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/lane_sums.h"
#include "ops/norm/lrn_loops.h"
#include "ops/norm/lrn_power.h"
#include "ops/plane_sums.h"
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

// Calls fn(channel, first element, number of places) for pieces of each channel.
template <class Fn>
void each_piece(const Shape& data, const KernelArgs& args, Fn&& fn) {
  each_channel(data, args, [&](int64_t channel, int64_t first, int64_t places) {
    for (int64_t i = 0; i < places; i += kPlaces) fn(channel, first + i, std::min(kPlaces, places - i));
  });
}

template <class A>
A factor_of(const LRNParams& p) {
  return static_cast<A>(p.alpha) / static_cast<A>(p.nsize);
}

// What elements of a channel are divided by, before the power. `x`: the same places in the first channel.
template <class T, class A>
void find_denominators(const LRNParams& p, const Shape& shape, const T* x, int64_t channel, int64_t places,
                       A* denominators) {
  const Window around = window(p, shape, channel);
  const int64_t plane = shape[2] * shape[3];
  std::fill_n(denominators, places, A{0});
  for (int64_t c = around.begin; c < around.end; c += kAtOnce) {
    const T* const from = x + c * plane;
    if (c + kAtOnce <= around.end) add_squares<kAtOnce>(from, plane, denominators, places);
    else
      for (int64_t rest = 0; rest < around.end - c; ++rest)
        add_squares<1>(from + rest * plane, plane, denominators, places);
  }
  const A constant = static_cast<A>(p.knorm), factor = factor_of<A>(p);
#pragma omp simd
  for (int64_t i = 0; i < places; ++i) denominators[i] = constant + factor * denominators[i];
}

// data -> output, denominator before the power.
void lrn_cpu(const LRNParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  dispatch_floating(args.in[0].dtype, "LRN", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* x = args.in[0].as<T>();
    T* y = args.wanted<T>(0);
    T* denominators = args.wanted<T>(1);
    const int64_t plane = shape[2] * shape[3];
    each_piece(shape, args, [&](int64_t channel, int64_t first, int64_t places) {
      if constexpr (std::is_same_v<T, float>) {
        if (y != nullptr && p.beta == 0.75) {
          const Window around = window(p, shape, channel);
          return best_loops<LrnPlaneLoops>().forward(x + first + (around.begin - channel) * plane, plane,
                                                     around.end - around.begin, static_cast<float>(p.knorm),
                                                     factor_of<float>(p), x + first, y + first,
                                                     denominators ? denominators + first : nullptr, places);
        }
      }
      A denominator[kPlaces], power[kPlaces];
      find_denominators(p, shape, x + first - channel * plane, channel, places, denominator);
      for (int64_t i = 0; denominators && i < places; ++i)
        denominators[first + i] = static_cast<T>(denominator[i]);
      if (y == nullptr) return;
      lrn_power(p.beta, denominator, power, places);
#pragma omp simd
      for (int64_t i = 0; i < places; ++i)
        y[first + i] = static_cast<T>(static_cast<A>(x[first + i]) * power[i]);
    });
  });
}

constexpr int64_t kKept = 4096;  // numbers of a kind on the stack

// For some places of an image. With denominators d, the gradient is grad d^-beta - factor x (the sum of grad x d^(-beta - 1)
// over the channels around). Both terms are kept of a window of channels, so that each is computed once, and nothing is
// read behind what was written.
template <class T, class A>
void backward_lrn(const LRNParams& p, const Shape& shape, const T* grad, const T* x, T* out, int64_t places,
                  int64_t kept, A* direct, A* spread) {
  const int64_t channels = shape[1], plane = shape[2] * shape[3];
  const A factor = 2 * static_cast<A>(p.alpha) * static_cast<A>(p.beta) / static_cast<A>(p.nsize);
  A denominator[kPlaces], power[kPlaces], sum[kPlaces];
  int64_t done = 0;  // channels whose terms were computed
  for (int64_t channel = 0; channel < channels; ++channel) {
    const Window around = window(p, shape, channel);
    for (; done < around.end; ++done) {
      find_denominators(p, shape, x, done, places, denominator);
      lrn_power(p.beta, denominator, power, places);
      A* const own_direct = direct + done % kept * places;
      A* const own_spread = spread + done % kept * places;
      const int64_t at = done * plane;
#pragma omp simd
      for (int64_t i = 0; i < places; ++i) {
        own_direct[i] = static_cast<A>(grad[at + i]) * power[i];
        own_spread[i] = own_direct[i] * static_cast<A>(x[at + i]) / denominator[i];
      }
    }
    std::fill_n(sum, places, A{0});
    for (int64_t c = around.begin; c < around.end; ++c) {
      const A* const term = spread + c % kept * places;
#pragma omp simd
      for (int64_t i = 0; i < places; ++i) sum[i] += term[i];
    }
    const A* const own_direct = direct + channel % kept * places;
    const int64_t at = channel * plane;
#pragma omp simd
    for (int64_t i = 0; i < places; ++i)
      out[at + i] = static_cast<T>(own_direct[i] - factor * static_cast<A>(x[at + i]) * sum[i]);
  }
}

int64_t window_size(const LRNParams& p, const Shape& data) {
  return std::max<int64_t>(1, std::min<int64_t>(p.nsize, data[1]));
}

// For the terms of windows that are too large for the stack.
size_t backward_lrn_scratch(const LRNParams& p, const KernelSpec& spec) {
  const int64_t kept = window_size(p, spec.in[0].shape);
  return kept > kKept ? slots_bytes(spec, 2 * kept, accum_size(spec.in[0].dtype)) : 0;
}

// grad, data -> gradient of data.
void backward_lrn_cpu(const LRNParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const int64_t plane = shape[2] * shape[3];
  const int64_t kept = window_size(p, shape);
  const int64_t at_once = std::min(kPlaces, std::max<int64_t>(1, kKept / kept));
  const int64_t pieces = (plane + at_once - 1) / at_once;
  dispatch_floating(args.in[0].dtype, "LRN", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    ScratchSlots slots = slots_of(args.scratch, 2 * kept, sizeof(A));
    engine::parallel_each(*args.context, shape[0] * pieces, 1, [&](int64_t piece) {
      const int64_t place = piece % pieces * at_once;
      const int64_t first = piece / pieces * shape[1] * plane + place;
      const auto run = [&](A* direct, A* spread) {
        backward_lrn(p, shape, args.in[0].as<T>() + first, args.in[1].as<T>() + first,
                     args.out[0].mutable_as<T>() + first, std::min(at_once, plane - place), kept, direct,
                     spread);
      };
      if (kept > kKept) {
        const ScratchSlots::Use memory(slots);
        run(memory.as<A>(), memory.as<A>() + kept);
      } else {
        A direct[kKept], spread[kKept];
        run(direct, spread);
      }
    });
  });
}

}  // namespace

void kernels_l2_norm(OpTable& table) {
  table.kernel<l2_normalization_cpu>("L2Normalization", "l2_normalization_cpu");
  table.kernel<lrn_cpu>("LRN", "lrn_cpu");
}

void gradients_l2_norm(OpTable& table) {
  table.kernel<backward_l2_normalization_cpu>("_backward_L2Normalization", "backward_l2_normalization_cpu");
  table.kernel<backward_lrn_cpu, backward_lrn_scratch>("_backward_LRN", "backward_lrn_cpu");
}

}  // namespace loomix::ops
