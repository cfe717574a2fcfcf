// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>

#include "engine/parallel_for.h"
#include "ops/conv/deformable_rules.h"
#include "ops/linear/gemm.h"
#include "ops/plane_sums.h"
#include "ops/table.h"

// Image by image: what the filters read becomes columns, and then all is matrix products, in the type of sums.
namespace loomix::ops {
namespace {

constexpr int64_t kPixels = 64;  // of the output, whose places are computed at once

template <class T>
struct Problem {
  using A = Accum<T>;
  ConvGeometry g;
  int64_t offset_groups;
  bool modulated;
  const T *data, *offset, *mask;  // of one image

  int64_t pixels() const { return g.out_size(); }
  int64_t blocks() const { return (pixels() + kPixels - 1) / kPixels; }
  int64_t taps() const { return g.kernel_size(); }
  int64_t channels() const { return g.groups * g.channels; }
  int64_t shared_channels() const { return channels() / offset_groups; }  // that read at the same places
  int64_t data_size() const { return channels() * g.in_size(); }
  int64_t offset_size() const { return 2 * offset_groups * taps() * pixels(); }
  int64_t column_size() const { return channels() * taps() * pixels(); }

  TapPlaces<A, const T*> places() const { return {g, modulated, offset, mask}; }
  Corners<A> place(int64_t group, int64_t tap, int64_t pixel) const {
    return places().place(group, tap, pixel);
  }
  A factor(int64_t group, int64_t tap, int64_t pixel) const { return places().factor(group, tap, pixel); }
};

template <class T, class P>
Problem<T> problem_of(const P& p, const KernelArgs& args, size_t first, int64_t image) {
  Problem<T> problem{ConvGeometry(p, args.in[first].shape),
                     p.num_deformable_group,
                     P::kModulated,
                     nullptr,
                     nullptr,
                     nullptr};
  problem.data = args.in[first].as<T>() + image * problem.data_size();
  problem.offset = args.in[first + 1].as<T>() + image * problem.offset_size();
  if (P::kModulated) problem.mask = args.in[first + 2].as<T>() + image * problem.offset_size() / 2;
  return problem;
}

// Calls fn(group, tap, first pixel, count, places) for pieces of the output.
template <class T, class Fn>
void each_piece(const Problem<T>& p, engine::RunContext& context, Fn&& fn) {
  engine::parallel_for(context, p.offset_groups * p.taps() * p.blocks(), 1, [&](int64_t begin, int64_t end) {
    Corners<Accum<T>> places[kPixels];
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t group = unit / p.blocks() / p.taps(), tap = unit / p.blocks() % p.taps();
      const int64_t first = unit % p.blocks() * kPixels, count = std::min(kPixels, p.pixels() - first);
      for (int64_t i = 0; i < count; ++i) places[i] = p.place(group, tap, first + i);
      fn(group, tap, first, count, places);
    }
  });
}

// columns[channel][tap][pixel]
template <class T, class A>
void unfold(const Problem<T>& p, A* columns, engine::RunContext& context) {
  each_piece(p, context,
             [&](int64_t group, int64_t tap, int64_t first, int64_t count, const Corners<A>* places) {
               for (int64_t c = group * p.shared_channels(); c < (group + 1) * p.shared_channels(); ++c) {
                 const T* const plane = p.data + c * p.g.in_size();
                 A* const to = columns + (c * p.taps() + tap) * p.pixels() + first;
                 for (int64_t i = 0; i < count; ++i)
                   to[i] = places[i].value(plane) * p.factor(group, tap, first + i);
               }
             });
}

// From the gradient of the columns those of offsets and masks; either may be null.
template <class T, class A>
void to_places(const Problem<T>& p, const A* columns, T* offset, T* mask, engine::RunContext& context) {
  each_piece(p, context,
             [&](int64_t group, int64_t tap, int64_t first, int64_t count, const Corners<A>* places) {
               A x[kPixels] = {}, y[kPixels] = {}, factor[kPixels] = {};
               for (int64_t c = group * p.shared_channels(); c < (group + 1) * p.shared_channels(); ++c) {
                 const T* const plane = p.data + c * p.g.in_size();
                 const A* const head = columns + (c * p.taps() + tap) * p.pixels() + first;
                 for (int64_t i = 0; i < count; ++i) {
                   const Slope<A> slope = places[i].slope(plane);
                   const A moved = head[i] * p.factor(group, tap, first + i);
                   x[i] += moved * slope.x;
                   y[i] += moved * slope.y;
                   if (mask) factor[i] += head[i] * places[i].value(plane);
                 }
               }
               const int64_t at = (group * p.taps() + tap) * p.pixels() + first;
               T* const to = offset ? offset + at + (group * p.taps() + tap) * p.pixels() : nullptr;
               for (int64_t i = 0; i < count; ++i) {
                 if (to) to[i] = static_cast<T>(y[i]);
                 if (to) to[p.pixels() + i] = static_cast<T>(x[i]);
                 if (mask) mask[at + i] = static_cast<T>(factor[i]);
               }
             });
}

// Each channel is added to by one thread, in order.
template <class T, class A>
void to_data(const Problem<T>& p, const A* columns, T* out, ScratchSlots& slots,
             engine::RunContext& context) {
  engine::parallel_each(context, p.channels(), 1, [&](int64_t c) {
    const int64_t group = c / p.shared_channels();
    fill_plane(slots, out + c * p.g.in_size(), p.g.in_size(), [&](A* sums) {
      for (int64_t tap = 0; tap < p.taps(); ++tap) {
        const A* const head = columns + (c * p.taps() + tap) * p.pixels();
        for (int64_t i = 0; i < p.pixels(); ++i) {
          p.place(group, tap, i).add(head[i] * p.factor(group, tap, i), sums);
        }
      }
    });
  });
}

// Numbers in the type of sums: themselves, or copied into the buffer.
template <class T>
const Accum<T>* widen(const T* from, int64_t size, Accum<T>* buffer) {
  if constexpr (sums_in_place_v<T>) {
    return from;
  } else {
    for (int64_t i = 0; i < size; ++i) buffer[i] = static_cast<Accum<T>>(from[i]);
    return buffer;
  }
}

MatMul product(int64_t m, int64_t n, int64_t k) { return {.m = m, .n = n, .k = k}; }

template <class P>
size_t deformable_scratch(const P& p, const KernelSpec& spec) {
  const DeformablePieces pieces(ConvGeometry(p, spec.in[0].shape), spec.in[0].dtype, false);
  return static_cast<size_t>(pieces.all()) * accum_size(spec.in[0].dtype);
}

template <class P>
size_t deformable_backward_scratch(const P& p, const KernelSpec& spec) {
  const ConvGeometry g(p, spec.in[1].shape);
  return static_cast<size_t>(DeformablePieces(g, spec.in[1].dtype, true).all()) *
             accum_size(spec.in[1].dtype) +
         plane_sums_bytes(spec, spec.in[1].dtype, g.in_size());
}

template <class P>
void deformable_cpu(const P& p, const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "DeformableConvolution", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const ConvGeometry g(p, args.in[0].shape);
    const DeformablePieces pieces(g, args.in[0].dtype, false);
    A* const columns = reinterpret_cast<A*>(args.scratch.data());
    const size_t weight_at = P::kModulated ? 3 : 2;
    const A* const weight =
        widen(args.in[weight_at].template as<T>(), args.in[weight_at].size(), columns + pieces.columns);
    const T* const bias = p.no_bias ? nullptr : args.in[weight_at + 1].template as<T>();
    const int64_t pixels = g.out_size(), size = g.groups * g.filters * pixels;
    for (int64_t image = 0; image < g.batch; ++image) {
      const Problem<T> problem = problem_of<T>(p, args, 0, image);
      unfold(problem, columns, *args.context);
      T* const out = args.out[0].template mutable_as<T>() + image * size;
      A* sums = columns + pieces.columns + pieces.weight;
      if constexpr (sums_in_place_v<T>) sums = out;
      for (int64_t i = 0; bias && i < size; ++i) sums[i] = static_cast<A>(bias[i / pixels]);
      for (int64_t group = 0; group < g.groups; ++group) {
        MatMul shape = product(g.filters, pixels, g.depth());
        shape.add = bias != nullptr;
        matmul_cblas(shape, dtype_of<A>(), weight + group * g.filters * g.depth(),
                     columns + group * g.depth() * pixels, sums + group * g.filters * pixels, *args.context);
      }
      if constexpr (!sums_in_place_v<T>) {
        for (int64_t i = 0; i < size; ++i) out[i] = static_cast<T>(sums[i]);
      }
    }
  });
}

template <class P>
void deformable_backward_cpu(const P& p, const KernelArgs& args) {
  const size_t weight_at = P::kModulated ? 4 : 3;  // also of its gradient, but for one
  dispatch_floating(args.in[0].dtype, "DeformableConvolution", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const ConvGeometry g(p, args.in[1].shape);
    const DeformablePieces pieces(g, args.in[1].dtype, true);
    A* const columns = reinterpret_cast<A*>(args.scratch.data());
    A* const wide_grad = columns + pieces.columns + pieces.weight;
    const A* const weight =
        widen(args.in[weight_at].template as<T>(), args.in[weight_at].size(), columns + pieces.columns);
    ScratchSlots slots =
        plane_slots<T>(args.scratch.subspan(static_cast<size_t>(pieces.all()) * sizeof(A)), g.in_size());
    T* const to_weight = args.wanted<T>(weight_at - 1);
    A* weight_sums = wide_grad + pieces.image;
    if constexpr (sums_in_place_v<T>) weight_sums = to_weight;
    if (to_weight) std::fill_n(weight_sums, args.in[weight_at].size(), A{0});
    const int64_t pixels = g.out_size(), size = g.groups * g.filters * pixels;
    for (int64_t image = 0; image < g.batch; ++image) {
      const Problem<T> problem = problem_of<T>(p, args, 1, image);
      const A* const grad = widen(args.in[0].template as<T>() + image * size, size, wide_grad);
      for (int64_t group = 0; group < g.groups; ++group) {
        MatMul shape = product(g.depth(), pixels, g.filters);
        shape.transpose_a = true;
        matmul_cblas(shape, dtype_of<A>(), weight + group * g.filters * g.depth(),
                     grad + group * g.filters * pixels, columns + group * g.depth() * pixels, *args.context);
      }
      T* const data = args.wanted<T>(0);
      T* const offset = args.wanted<T>(1);
      T* const mask = P::kModulated ? args.wanted<T>(2) : nullptr;
      if (offset || mask) {
        to_places(problem, columns, offset ? offset + image * problem.offset_size() : nullptr,
                  mask ? mask + image * problem.offset_size() / 2 : nullptr, *args.context);
      }
      if (data) to_data(problem, columns, data + image * problem.data_size(), slots, *args.context);
      if (!to_weight) continue;
      unfold(problem, columns, *args.context);
      for (int64_t group = 0; group < g.groups; ++group) {
        MatMul shape = product(g.filters, g.depth(), pixels);
        shape.transpose_b = true;
        shape.add = true;
        matmul_cblas(shape, dtype_of<A>(), grad + group * g.filters * pixels,
                     columns + group * g.depth() * pixels, weight_sums + group * g.filters * g.depth(),
                     *args.context);
      }
    }
    if constexpr (!sums_in_place_v<T>) {
      for (int64_t i = 0; to_weight && i < args.in[weight_at].size(); ++i)
        to_weight[i] = static_cast<T>(weight_sums[i]);
    }
  });
}

using Plain = DeformableConvolutionParams;
using Modulated = ModulatedDeformableConvolutionParams;

}  // namespace

void kernels_deformable(OpTable& table) {
  table.kernel<deformable_cpu<Plain>, deformable_scratch<Plain>>("_contrib_DeformableConvolution",
                                                                 "deformable_cpu");
  table.kernel<deformable_cpu<Modulated>, deformable_scratch<Modulated>>(
      "_contrib_ModulatedDeformableConvolution", "modulated_deformable_cpu");
}

void gradients_deformable(OpTable& table) {
  table.kernel<deformable_backward_cpu<Plain>, deformable_backward_scratch<Plain>>(
      "_backward__contrib_DeformableConvolution", "deformable_backward_cpu");
  table.kernel<deformable_backward_cpu<Modulated>, deformable_backward_scratch<Modulated>>(
      "_backward__contrib_ModulatedDeformableConvolution", "modulated_deformable_backward_cpu");
}

}  // namespace loomix::ops
