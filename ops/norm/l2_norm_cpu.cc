// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/l2_norm.h"

#include <algorithm>
#include <cmath>

#include "engine/parallel_for.h"

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
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, groups.size));
  engine::parallel_for(*args.context, groups.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) fn(r, groups.first(r));
  });
}

// fn(item, channel, first element, number of places) for each channel of data (N, C, H, W).
template <class Fn>
void each_channel(const Shape& data, const KernelArgs& args, Fn&& fn) {
  const int64_t places = data[2] * data[3];
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, places));
  engine::parallel_for(*args.context, data[0] * data[1], grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) fn(r / data[1], r % data[1], r * places, places);
  });
}

struct Window {
  int64_t begin, end;  // channels
};
Window window(const LRNParams& p, const Shape& data, int64_t channel) {
  const int64_t reach = p.nsize / 2;
  return {std::max<int64_t>(0, channel - reach), std::min(data[1], channel + reach + 1)};
}

}  // namespace

void l2_normalization_cpu(const L2NormalizationParams& p, const KernelArgs& args) {
  const Groups groups = groups_of(p, args.in[0].shape);
  dispatch_floating(args.in[0].dtype, "L2Normalization", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* x = args.in[0].as<T>();
    T* y = args.req[0] == Req::null ? nullptr : args.out[0].mutable_as<T>();
    T* norms = args.req[1] == Req::null ? nullptr : args.out[1].mutable_as<T>();
    each_group(groups, args, [&](int64_t r, int64_t first) {
      A squares = static_cast<A>(p.eps);
      for (int64_t i = 0; i < groups.size; ++i) {
        const A item = static_cast<A>(x[first + i * groups.step]);
        squares += item * item;
      }
      const A norm = std::sqrt(squares);
      if (norms) norms[r] = static_cast<T>(norm);
      for (int64_t i = 0; y && i < groups.size; ++i) {
        const int64_t at = first + i * groups.step;
        y[at] = static_cast<T>(static_cast<A>(x[at]) / norm);
      }
    });
  });
}

void backward_l2_normalization_cpu(const L2NormalizationParams& p, const KernelArgs& args) {
  const Groups groups = groups_of(p, args.in[0].shape);
  dispatch_floating(args.in[0].dtype, "L2Normalization", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* grad = args.in[0].as<T>();
    const T* y = args.in[1].as<T>();
    const T* norms = args.in[2].as<T>();
    T* out = args.out[0].mutable_as<T>();
    each_group(groups, args, [&](int64_t r, int64_t first) {
      A product = 0;
      for (int64_t i = 0; i < groups.size; ++i) {
        const int64_t at = first + i * groups.step;
        product += static_cast<A>(grad[at]) * static_cast<A>(y[at]);
      }
      for (int64_t i = 0; i < groups.size; ++i) {
        const int64_t at = first + i * groups.step;
        out[at] = static_cast<T>((static_cast<A>(grad[at]) - static_cast<A>(y[at]) * product) /
                                 static_cast<A>(norms[r]));
      }
    });
  });
}

void lrn_cpu(const LRNParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  dispatch_floating(args.in[0].dtype, "LRN", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* x = args.in[0].as<T>();
    T* y = args.req[0] == Req::null ? nullptr : args.out[0].mutable_as<T>();
    T* denominators = args.req[1] == Req::null ? nullptr : args.out[1].mutable_as<T>();
    const A factor = static_cast<A>(p.alpha) / static_cast<A>(p.nsize);
    each_channel(shape, args, [&](int64_t item, int64_t channel, int64_t first, int64_t places) {
      const Window around = window(p, shape, channel);
      for (int64_t place = 0; place < places; ++place) {
        A squares = 0;
        for (int64_t c = around.begin; c < around.end; ++c) {
          const A value = static_cast<A>(x[(item * shape[1] + c) * places + place]);
          squares += value * value;
        }
        const A denominator = static_cast<A>(p.knorm) + factor * squares;
        const int64_t at = first + place;
        if (denominators) denominators[at] = static_cast<T>(denominator);
        if (y) y[at] = static_cast<T>(static_cast<A>(x[at]) * std::pow(denominator, -static_cast<A>(p.beta)));
      }
    });
  });
}

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
    each_channel(shape, args, [&](int64_t item, int64_t channel, int64_t first, int64_t places) {
      const Window around = window(p, shape, channel);
      for (int64_t place = 0; place < places; ++place) {
        A spread = 0;
        for (int64_t c = around.begin; c < around.end; ++c) {
          const int64_t at = (item * shape[1] + c) * places + place;
          spread += static_cast<A>(grad[at]) * static_cast<A>(y[at]) / static_cast<A>(denominators[at]);
        }
        const int64_t at = first + place;
        const A direct =
            static_cast<A>(grad[at]) * std::pow(static_cast<A>(denominators[at]), -static_cast<A>(p.beta));
        out[at] = static_cast<T>(direct - factor * static_cast<A>(x[at]) * spread);
      }
    });
  });
}

}  // namespace loomix::ops
