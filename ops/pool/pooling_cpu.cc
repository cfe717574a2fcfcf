// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/pool/pooling.h"
#include "ops/rearranged.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kColumns = 512;  // of the data that maxima of rows are kept of

// How many positions along one axis an average over window `at` counts.
int64_t counted_along(const PoolGeometry& g, int axis, int64_t at, bool include_pad) {
  if (g.whole_windows) return g.kernel[axis];
  const int64_t first = at * g.stride[axis] - g.pad[axis];
  const int64_t last = std::min(first + g.kernel[axis], g.in[axis] + g.pad[axis]);
  if (include_pad) return last - first;
  return std::max<int64_t>(std::min(last, g.in[axis]) - std::max<int64_t>(first, 0), 0);
}

// The part of the data that one window covers, and how many positions an average divides by.
struct Window {
  int64_t first[3];  // may lie outside
  int64_t begin[3], end[3];
  int64_t counted = 1;
  bool padded = false;  // whether it covers positions that were added

  Window(const PoolGeometry& g, int64_t d, int64_t h, int64_t w, bool include_pad) {
    const int64_t at[3] = {d, h, w};
    for (int i = 0; i < 3; ++i) {
      first[i] = at[i] * g.stride[i] - g.pad[i];
      const int64_t last = std::min(first[i] + g.kernel[i], g.in[i] + g.pad[i]);
      begin[i] = std::max<int64_t>(first[i], 0);
      end[i] = std::max(begin[i], std::min(last, g.in[i]));
      padded |= first[i] < 0 || last > g.in[i];
      counted *= counted_along(g, i, at[i], include_pad);
    }
    counted = std::max<int64_t>(counted, 1);
  }
};

// Calls fn(window, first element of the plane in the data, output element, number of the window with channels first) for
// every window.
template <class Fn>
void each_window(const PoolingParams& p, const PoolGeometry& g, engine::RunContext& context, Fn&& fn) {
  const bool include_pad = p.count_include_pad.value_or(true);
  const int64_t step = g.channels_last ? g.channels : 1;
  engine::parallel_for(context, g.batch * g.channels, 1, [&](int64_t from, int64_t to) {
    for (int64_t plane = from; plane < to; ++plane) {
      const int64_t image = plane / g.channels;
      const int64_t channel = plane % g.channels;
      const int64_t in_base = g.channels_last ? image * g.in_size() * step + channel : plane * g.in_size();
      const int64_t out_base = g.channels_last ? image * g.out_size() * step + channel : plane * g.out_size();
      int64_t at = out_base, number = plane * g.out_size();
      for (int64_t d = 0; d < g.out[0]; ++d) {
        for (int64_t h = 0; h < g.out[1]; ++h) {
          for (int64_t w = 0; w < g.out[2]; ++w, at += step)
            fn(Window(g, d, h, w, include_pad), in_base, at, number++);
        }
      }
    }
  });
}

// Calls fn(element) for every position of the data in the window.
template <class Fn>
void each_position(const PoolGeometry& g, const Window& window, int64_t base, Fn&& fn) {
  const int64_t step = g.channels_last ? g.channels : 1;
  for (int64_t d = window.begin[0]; d < window.end[0]; ++d) {
    for (int64_t h = window.begin[1]; h < window.end[1]; ++h) {
      for (int64_t w = window.begin[2]; w < window.end[2]; ++w)
        fn(base + ((d * g.in[1] + h) * g.in[2] + w) * step);
    }
  }
}

// NaN is the largest.
template <class A>
A larger(A a, A b) {
  return ((b > a) | (b != b)) ? b : a;
}

// Maxima, sums and averages with channels first: over a window's rows at every column, which vectorises, and then across
// the columns.
template <class T, bool is_max>
void forward_rows(const PoolingParams& p, const PoolGeometry& g, const T* data, T* out,
                  engine::RunContext& context) {
  using A = Accum<T>;
  const bool include_pad = p.count_include_pad.value_or(true);
  constexpr A start_value = is_max ? -std::numeric_limits<A>::infinity() : A{0};
  const auto join = [](A a, A b) { return is_max ? larger(a, b) : a + b; };
  const int64_t most = (kColumns - g.kernel[2]) / g.stride[2] + 1;  // windows whose columns fit the buffer
  engine::parallel_for(
      context, g.batch * g.channels * g.out[0] * g.out[1], 16, [&](int64_t from, int64_t until) {
        for (int64_t row = from; row < until; ++row) {
          const int64_t of_plane = row % (g.out[0] * g.out[1]);
          const Window window(g, of_plane / g.out[1], of_plane % g.out[1], 0, false);
          const int64_t others = counted_along(g, 0, of_plane / g.out[1], include_pad) *
                                 counted_along(g, 1, of_plane % g.out[1], include_pad);
          const T* const plane = data + row / (g.out[0] * g.out[1]) * g.in_size();
          for (int64_t w = 0; w < g.out[2]; w += most) {
            const int64_t last = std::min(w + most, g.out[2]);
            // Column i of the buffer is column start + i of the data; those outside of it change nothing.
            const int64_t start = w * g.stride[2] - g.pad[2];
            const int64_t span = (last - w - 1) * g.stride[2] + g.kernel[2];
            const int64_t first = std::max<int64_t>(start, 0), end = std::min(start + span, g.in[2]);
            A columns[kColumns], results[kColumns];
            std::fill_n(columns, span, start_value);
            std::fill_n(results, last - w, start_value);
            for (int64_t d = window.begin[0]; d < window.end[0]; ++d) {
              for (int64_t h = window.begin[1]; h < window.end[1]; ++h) {
                const T* const line = plane + (d * g.in[1] + h) * g.in[2] + first;
                A* const to = columns + first - start;
#pragma omp simd
                for (int64_t i = 0; i < end - first; ++i) to[i] = join(to[i], static_cast<A>(line[i]));
              }
            }
            for (int64_t j = 0; j < g.kernel[2]; ++j) {
#pragma omp simd
              for (int64_t k = 0; k < last - w; ++k)
                results[k] = join(results[k], columns[k * g.stride[2] + j]);
            }
            for (int64_t k = 0; p.pool_type == PoolType::avg && k < last - w; ++k)
              results[k] /= A(std::max<int64_t>(others * counted_along(g, 2, w + k, include_pad), 1));
            T* const to = out + row * g.out[2] + w;
            for (int64_t k = 0; k < last - w; ++k) to[k] = static_cast<T>(results[k]);
          }
        }
      });
}

// Maxima and where they lie: the first one of a window. `zeros_count`: those of Pooling_v1 in the padding, too.
template <class T, class Place>
void forward_places(const PoolingParams& p, const PoolGeometry& g, bool zeros_count, const T* data, T* out,
                    Place* places, engine::RunContext& context) {
  using A = Accum<T>;
  const int64_t step = g.channels_last ? g.channels : 1;
  each_window(p, g, context, [&](const Window& window, int64_t base, int64_t to, int64_t number) {
    A best = -std::numeric_limits<A>::infinity();
    Place place = kNoPlace<Place>;
    for (int64_t d = window.begin[0]; d < window.end[0]; ++d) {
      for (int64_t h = window.begin[1]; h < window.end[1]; ++h) {
        for (int64_t w = window.begin[2]; w < window.end[2]; ++w) {
          const A x = static_cast<A>(data[base + ((d * g.in[1] + h) * g.in[2] + w) * step]);
          if (place != kNoPlace<Place> && !((x > best) | (x != x))) continue;
          best = x;
          place =
              static_cast<Place>(((d - window.first[0]) * g.kernel[1] + h - window.first[1]) * g.kernel[2] +
                                 w - window.first[2]);
        }
      }
    }
    if (zeros_count && window.padded && larger(best, A{0}) != best) {
      best = A{0};
      place = kNoPlace<Place>;
    }
    out[to] = static_cast<T>(best);
    places[number] = place;
  });
}

// Each gradient goes to the place of its window's maximum. Windows of one plane run on one thread, so that overlapping
// ones may add to the same place.
template <class T, class Place>
void backward_max(const PoolGeometry& g, const T* grad, const Place* places, T* out,
                  engine::RunContext& context) {
  using A = Accum<T>;
  const int64_t step = g.channels_last ? g.channels : 1;
  std::vector<int64_t> distances;  // of a window's places from its first one, in elements
  for (int64_t place = 0; place < g.window_size(); ++place) {
    const int64_t d = place / (g.kernel[1] * g.kernel[2]), h = place / g.kernel[2] % g.kernel[1];
    distances.push_back(((d * g.in[1] + h) * g.in[2] + place % g.kernel[2]) * step);
  }
  engine::parallel_for(context, g.batch * g.channels, 1, [&](int64_t from, int64_t to) {
    for (int64_t plane = from; plane < to; ++plane) {
      const int64_t image = plane / g.channels, channel = plane % g.channels;
      const int64_t first = g.channels_last ? image * g.channels : plane, own = g.channels_last ? channel : 0;
      T* const plane_out = out + first * g.in_size() + own;
      const T* plane_grad = grad + first * g.out_size() + own;
      const Place* place = places + plane * g.out_size();
      if (step == 1) std::fill_n(plane_out, g.in_size(), T{});
      else
        for (int64_t i = 0; i < g.in_size(); ++i) plane_out[i * step] = T{};
      for (int64_t d = 0; d < g.out[0]; ++d) {
        for (int64_t h = 0; h < g.out[1]; ++h) {
          const int64_t depth = d * g.stride[0] - g.pad[0], height = h * g.stride[1] - g.pad[1];
          T* at = plane_out + ((depth * g.in[1] + height) * g.in[2] - g.pad[2]) * step;
          for (int64_t w = 0; w < g.out[2]; ++w, at += g.stride[2] * step, plane_grad += step, ++place) {
            if (*place == kNoPlace<Place>) continue;
            T& target = at[distances[static_cast<size_t>(*place)]];
            target = static_cast<T>(static_cast<A>(target) + static_cast<A>(*plane_grad));
          }
        }
      }
    }
  });
}

// Odd powers keep the sign, as do their roots.
template <class A>
A root(A value, A power) {
  return value < 0 ? -std::pow(-value, 1 / power) : std::pow(value, 1 / power);
}

bool counts_zeros(const PoolingParams& p, const PoolGeometry& g) {
  return p.pool_type == PoolType::max && g.whole_windows && (g.pad[0] > 0 || g.pad[1] > 0 || g.pad[2] > 0);
}

template <class T>
void forward(const PoolingParams& p, const PoolGeometry& g, const T* data, T* out,
             engine::RunContext& context) {
  using A = Accum<T>;
  const bool zeros_count = counts_zeros(p, g);
  if (p.pool_type != PoolType::lp && !zeros_count && !g.channels_last && g.kernel[2] <= kColumns) {
    return p.pool_type == PoolType::max ? forward_rows<T, true>(p, g, data, out, context)
                                        : forward_rows<T, false>(p, g, data, out, context);
  }
  each_window(p, g, context, [&](const Window& window, int64_t base, int64_t to, int64_t) {
    A result = p.pool_type == PoolType::max ? -std::numeric_limits<A>::infinity() : A{0};
    each_position(g, window, base, [&](int64_t at) {
      const A x = static_cast<A>(data[at]);
      switch (p.pool_type) {
        case PoolType::max: result = larger(result, x); break;
        case PoolType::lp: result += std::pow(x, A(*p.p_value)); break;
        default: result += x;
      }
    });
    if (zeros_count && window.padded) result = larger(result, A{0});
    if (p.pool_type == PoolType::avg) result /= A(window.counted);
    if (p.pool_type == PoolType::lp) result = root(result, A(*p.p_value));
    out[to] = static_cast<T>(result);
  });
}

template <class T>
void backward_mean(const PoolingParams& p, const PoolGeometry& g, const T* grad, T* out,
                   engine::RunContext& context) {
  using A = Accum<T>;
  std::fill_n(out, g.batch * g.channels * g.in_size(), static_cast<T>(A{0}));
  each_window(p, g, context, [&](const Window& window, int64_t base, int64_t from, int64_t) {
    const A head = static_cast<A>(grad[from]);
    const A share = p.pool_type == PoolType::avg ? head / A(window.counted) : head;
    each_position(g, window, base,
                  [&](int64_t at) { out[at] = static_cast<T>(static_cast<A>(out[at]) + share); });
  });
}

template <class T>
void backward_norm(const PoolingParams& p, const PoolGeometry& g, const T* grad, const T* data,
                   const T* output, T* out, engine::RunContext& context) {
  using A = Accum<T>;
  std::fill_n(out, g.batch * g.channels * g.in_size(), static_cast<T>(A{0}));
  each_window(p, g, context, [&](const Window& window, int64_t base, int64_t from, int64_t) {
    const A head = static_cast<A>(grad[from]), y = static_cast<A>(output[from]), exponent = A(*p.p_value) - 1;
    each_position(g, window, base, [&](int64_t at) {
      const A x = static_cast<A>(data[at]);
      const A slope = exponent == 0 ? A{1} : y == 0 ? A{0} : std::pow(x, exponent) / std::pow(y, exponent);
      out[at] = static_cast<T>(static_cast<A>(out[at]) + head * slope);
    });
  });
}

template <class P>
PoolGeometry geometry_of(const P& p, const Shape& data) {
  PoolGeometry g(full(p), data);
  g.whole_windows = std::is_same_v<P, PoolingV1Params>;
  return g;
}

// Calls fn(places as what they are).
template <class Fn>
void with_places(const TensorView& places, Fn&& fn) {
  if (places.dtype == DType::uint8) fn(static_cast<BytePlace*>(places.data));
  else fn(static_cast<WidePlace*>(places.data));
}

template <class P>
void run_forward(const P& attrs, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const PoolingParams& p = full(attrs);
  const PoolGeometry g = geometry_of(attrs, args.in[0].shape);
  dispatch_floating(args.in[0].dtype, "Pooling", [&]<class T>(Type<T>) {
    const T* const data = args.in[0].as<T>();
    T* const out = args.out[0].mutable_as<T>();
    if (p.pool_type != PoolType::max || !args.saved[0].data) return forward(p, g, data, out, *args.context);
    with_places(args.saved[0], [&](auto* places) {
      forward_places(p, g, counts_zeros(p, g), data, out, places, *args.context);
    });
  });
}

// grad, places, data -> gradient of the data.
template <class P>
void run_max_backward(const P& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const PoolGeometry g = geometry_of(p, args.in[2].shape);
  dispatch_floating(args.in[0].dtype, "Pooling", [&]<class T>(Type<T>) {
    with_places(args.in[1], [&](const auto* places) {
      backward_max(g, args.in[0].as<T>(), places, args.out[0].mutable_as<T>(), *args.context);
    });
  });
}

// grad, data -> gradient of the data.
template <class P>
void run_mean_backward(const P& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const PoolGeometry g = geometry_of(p, args.in[1].shape);
  dispatch_floating(args.in[0].dtype, "Pooling", [&]<class T>(Type<T>) {
    backward_mean(full(p), g, args.in[0].as<T>(), args.out[0].mutable_as<T>(), *args.context);
  });
}

// grad, data, output -> gradient of the data.
void pooling_norm_backward_cpu(const PoolingParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const PoolGeometry g(p, args.in[1].shape);
  dispatch_floating(args.in[0].dtype, "Pooling", [&]<class T>(Type<T>) {
    backward_norm(p, g, args.in[0].as<T>(), args.in[1].as<T>(), args.in[2].as<T>(),
                  args.out[0].mutable_as<T>(), *args.context);
  });
}

void pooling_cpu(const PoolingParams& p, const KernelArgs& args) { run_forward(p, args); }
void pooling_max_backward_cpu(const PoolingParams& p, const KernelArgs& args) { run_max_backward(p, args); }
void pooling_mean_backward_cpu(const PoolingParams& p, const KernelArgs& args) { run_mean_backward(p, args); }

}  // namespace

void kernels_pool(OpTable& table) {
  using P = PoolingParams;
  add_rearranged<P, 0b001>(table, "Pooling", "pooling_rearranged");
  table.kernel<pooling_cpu>("Pooling", "pooling_cpu");
  table.kernel<run_forward<PoolingV1Params>>("Pooling_v1", "pooling_v1_cpu");
}

void gradients_pool(OpTable& table) {
  using P = PoolingParams;
  add_rearranged<P, 0b111, false, 0b010>(table, "_backward_Pooling_max", "pooling_max_backward_rearranged");
  add_rearranged<P, 0b11>(table, "_backward_Pooling_mean", "pooling_mean_backward_rearranged");
  add_rearranged<P, 0b111>(table, "_backward_Pooling_norm", "pooling_norm_backward_rearranged");
  table.kernel<pooling_max_backward_cpu>("_backward_Pooling_max", "pooling_max_backward_cpu");
  table.kernel<pooling_mean_backward_cpu>("_backward_Pooling_mean", "pooling_mean_backward_cpu");
  table.kernel<pooling_norm_backward_cpu>("_backward_Pooling_norm", "pooling_norm_backward_cpu");
  table.kernel<run_max_backward<PoolingV1Params>>("_backward_Pooling_v1_max", "pooling_v1_max_backward_cpu");
  table.kernel<run_mean_backward<PoolingV1Params>>("_backward_Pooling_v1_mean",
                                                   "pooling_v1_mean_backward_cpu");
}

}  // namespace loomix::ops
