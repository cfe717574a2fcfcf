// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/plane_sums.h"
#include "ops/table.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 8192;

// Calls fn(plane) for each of the planes, which need `work` steps each.
template <class Fn>
void each_plane(const KernelArgs& args, int64_t planes, int64_t work, Fn&& fn) {
  const int64_t grain = kElementsPerThread / std::max<int64_t>(1, work);
  engine::parallel_each(*args.context, planes, grain, [&](int64_t plane) { fn(plane); });
}

template <class A>
void fill_taps(int64_t in, int64_t out, bool align_corners, Tap<A>* taps) {
  const A scale = tap_scale<A>(in, out, align_corners);
  for (int64_t i = 0; i < out; ++i) taps[i] = tap_of(i, in, scale, align_corners);
}

// The taps of rows and columns, in the run's scratch memory.
template <class A>
struct Taps {
  const Tap<A>*rows, *columns;

  Taps(const KernelArgs& args, const Shape& in, const Shape& out, bool align_corners) {
    auto* const taps = reinterpret_cast<Tap<A>*>(args.scratch.data());
    fill_taps(in[2], out[2], align_corners, taps);
    fill_taps(in[3], out[3], align_corners, taps + out[2]);
    rows = taps;
    columns = taps + out[2];
  }
  static size_t bytes(const Shape& out) { return slot_bytes(out[2] + out[3], sizeof(Tap<A>)); }
};

size_t bilinear_resize_scratch(const KernelSpec& spec) {
  // Taps of the new image, which is the output, or backward the gradient; there, sums of the old one.
  const int64_t rows = std::max(spec.in[0].shape[2], spec.out[0].shape[2]);
  const int64_t columns = std::max(spec.in[0].shape[3], spec.out[0].shape[3]);
  const size_t tap = spec.out[0].dtype == DType::float64 ? sizeof(Tap<double>) : sizeof(Tap<float>);
  return slot_bytes(rows + columns, tap) +
         plane_sums_bytes(spec, spec.out[0].dtype, spec.out[0].shape[2] * spec.out[0].shape[3]);
}

void bilinear_resize_cpu(const BilinearResizeParams& p, const KernelArgs& args) {
  const Shape& in = args.in[0].shape;
  const Shape& out = args.out[0].shape;
  dispatch_floating(args.out[0].dtype, "BilinearResize2D", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const Taps<A> taps(args, in, out, p.align_corners);
    const T* const data = args.in[0].as<T>();
    T* const result = args.out[0].mutable_as<T>();
    each_plane(args, out[0] * out[1], out[2] * out[3], [&](int64_t plane) {
      const T* const from = data + plane * in[2] * in[3];
      T* to = result + plane * out[2] * out[3];
      for (int64_t y = 0; y < out[2]; ++y, to += out[3]) {
        const T* const upper = from + taps.rows[y].first * in[3];
        const T* const lower = from + taps.rows[y].second * in[3];
        const A down = taps.rows[y].rest;
        for (int64_t x = 0; x < out[3]; ++x) {
          const Tap<A> tap = taps.columns[x];
          const auto across = [&](const T* row) {
            return (1 - tap.rest) * static_cast<A>(row[tap.first]) +
                   tap.rest * static_cast<A>(row[tap.second]);
          };
          to[x] = static_cast<T>((1 - down) * across(upper) + down * across(lower));
        }
      }
    });
  });
}

void bilinear_resize_backward_cpu(const BilinearResizeParams& p, const KernelArgs& args) {
  const Shape& big = args.in[0].shape;  // of the gradient
  const Shape& out = args.out[0].shape;
  dispatch_floating(args.out[0].dtype, "BilinearResize2D", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const Taps<A> taps(args, out, big, p.align_corners);
    ScratchSlots slots = plane_slots<T>(args.scratch.subspan(Taps<A>::bytes(big)), out[2] * out[3]);
    const T* const grad = args.in[0].as<T>();
    T* const result = args.out[0].mutable_as<T>();
    each_plane(args, out[0] * out[1], big[2] * big[3], [&](int64_t plane) {
      const T* from = grad + plane * big[2] * big[3];
      fill_plane(slots, result + plane * out[2] * out[3], out[2] * out[3], [&](A* sums) {
        for (int64_t y = 0; y < big[2]; ++y, from += big[3]) {
          A* const upper = sums + taps.rows[y].first * out[3];
          A* const lower = sums + taps.rows[y].second * out[3];
          const A down = taps.rows[y].rest;
          for (int64_t x = 0; x < big[3]; ++x) {
            const Tap<A> tap = taps.columns[x];
            const A head = static_cast<A>(from[x]);
            const A left = head * (1 - tap.rest), right = head * tap.rest;
            upper[tap.first] += left * (1 - down);
            upper[tap.second] += right * (1 - down);
            lower[tap.first] += left * down;
            lower[tap.second] += right * down;
          }
        }
      });
    });
  });
}

size_t adaptive_pool_scratch(const KernelSpec& spec) {
  // Forward: a row of sums; backward: sums of the plane.
  const int64_t width = std::max(spec.in[0].shape[3], spec.out[0].shape[3]);
  return slots_bytes(spec, width, accum_size(spec.out[0].dtype)) +
         plane_sums_bytes(spec, spec.out[0].dtype, spec.out[0].shape[2] * spec.out[0].shape[3]);
}

void adaptive_pool_cpu(const KernelArgs& args) {
  const Shape& in = args.in[0].shape;
  const Shape& out = args.out[0].shape;
  dispatch_floating(args.out[0].dtype, "AdaptiveAvgPooling2D", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const data = args.in[0].as<T>();
    T* const result = args.out[0].mutable_as<T>();
    ScratchSlots slots = slots_of(args.scratch, std::max(in[3], out[3]), sizeof(A));
    each_plane(args, out[0] * out[1], in[2] * in[3], [&](int64_t plane) {
      const ScratchSlots::Use slot(slots);
      A* const sums = slot.template as<A>();  // of each column
      const T* const from = data + plane * in[2] * in[3];
      T* to = result + plane * out[2] * out[3];
      for (int64_t y = 0; y < out[2]; ++y, to += out[3]) {
        const PoolWindow rows = pool_window(y, in[2], out[2]);
        std::fill_n(sums, in[3], A{0});
        for (int64_t row = rows.begin; row < rows.end; ++row) {
          for (int64_t x = 0; x < in[3]; ++x) sums[x] += static_cast<A>(from[row * in[3] + x]);
        }
        for (int64_t x = 0; x < out[3]; ++x) {
          const PoolWindow columns = pool_window(x, in[3], out[3]);
          A parts[8] = {};  // added side by side
          int64_t column = columns.begin;
          for (; column + 8 <= columns.end; column += 8) {
            for (int64_t lane = 0; lane < 8; ++lane) parts[lane] += sums[column + lane];
          }
          for (; column < columns.end; ++column) parts[0] += sums[column];
          A sum = 0;
          for (const A part : parts) sum += part;
          to[x] =
              static_cast<T>(sum / static_cast<A>((rows.end - rows.begin) * (columns.end - columns.begin)));
        }
      }
    });
  });
}

void adaptive_pool_backward_cpu(const KernelArgs& args) {
  const Shape& from = args.in[0].shape;  // of the gradient
  const Shape& out = args.out[0].shape;
  dispatch_floating(args.out[0].dtype, "AdaptiveAvgPooling2D", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const grad = args.in[0].as<T>();
    T* const result = args.out[0].mutable_as<T>();
    ScratchSlots slots = plane_slots<T>(args.scratch, out[2] * out[3]);
    each_plane(args, out[0] * out[1], out[2] * out[3], [&](int64_t plane) {
      const T* head = grad + plane * from[2] * from[3];
      fill_plane(slots, result + plane * out[2] * out[3], out[2] * out[3], [&](A* sums) {
        for (int64_t y = 0; y < from[2]; ++y) {
          const PoolWindow rows = pool_window(y, out[2], from[2]);
          for (int64_t x = 0; x < from[3]; ++x) {
            const PoolWindow columns = pool_window(x, out[3], from[3]);
            const A share = static_cast<A>(*head++) /
                            static_cast<A>((rows.end - rows.begin) * (columns.end - columns.begin));
            for (int64_t row = rows.begin; row < rows.end; ++row) {
              for (int64_t i = columns.begin; i < columns.end; ++i) sums[row * out[3] + i] += share;
            }
          }
        }
      });
    });
  });
}

}  // namespace

void kernels_resample(OpTable& table) {
  table.kernel<bilinear_resize_cpu, bilinear_resize_scratch>("_contrib_BilinearResize2D",
                                                             "bilinear_resize_cpu");
  table.kernel<adaptive_pool_cpu, adaptive_pool_scratch>("_contrib_AdaptiveAvgPooling2D",
                                                         "adaptive_pool_cpu");
}

void gradients_resample(OpTable& table) {
  table.kernel<bilinear_resize_backward_cpu, bilinear_resize_scratch>("_backward__contrib_BilinearResize2D",
                                                                      "bilinear_resize_backward_cpu");
  table.kernel<adaptive_pool_backward_cpu, adaptive_pool_scratch>("_backward__contrib_AdaptiveAvgPooling2D",
                                                                  "adaptive_pool_backward_cpu");
}

}  // namespace loomix::ops
