// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "engine/parallel_for.h"
#include "ops/plane_sums.h"
#include "ops/table.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

constexpr int64_t kColumns = 64;  // of the output, summed at once

int64_t plane_size(const CorrelationGeometry& g) { return g.padded[0] * g.padded[1]; }

// Both images with their zeros at the sides, in the run's scratch memory: loops over them need no bounds.
template <class A>
struct Padded {
  A* images[2];

  template <class T>
  Padded(const CorrelationParams& p, const CorrelationGeometry& g, const T* first, const T* second,
         const KernelArgs& args) {
    const int64_t size = plane_size(g), planes = g.batch * g.channels;
    auto* const memory = reinterpret_cast<A*>(args.scratch.data());
    const T* const from[2] = {first, second};
    for (int i = 0; i < 2; ++i) images[i] = memory + i * planes * size;
    engine::parallel_each(*args.context, 2 * planes, 4, [&](int64_t unit) {
      const int64_t plane = unit % planes;
      A* const to = images[unit / planes] + plane * size;
      const T* row = from[unit / planes] + plane * g.in[0] * g.in[1];
      std::fill_n(to, size, A{0});
      for (int64_t y = 0; y < g.in[0]; ++y, row += g.in[1]) {
        A* const place = to + (y + p.pad_size) * g.padded[1] + p.pad_size;
        for (int64_t x = 0; x < g.in[1]; ++x) place[x] = static_cast<A>(row[x]);
      }
    });
  }
  static size_t bytes(const CorrelationGeometry& g) {
    return slot_bytes(2 * g.batch * g.channels * plane_size(g), sizeof(A));
  }
};

// What belongs to one channel of the output: by how far, in elements, data2 is displaced.
int64_t displacement(const CorrelationParams& p, const CorrelationGeometry& g, int64_t number) {
  const int64_t side = 2 * g.reach + 1;
  return (number / side - g.reach) * p.stride2 * g.padded[1] + (number % side - g.reach) * p.stride2;
}

int64_t first_of_row(const CorrelationParams& p, const CorrelationGeometry& g, int64_t y) {
  return (y * p.stride1 + p.max_displacement) * g.padded[1] + p.max_displacement;
}

// fn(offset) for each element of a square.
template <class Fn>
void each_offset(const CorrelationParams& p, const CorrelationGeometry& g, Fn&& fn) {
  for (int64_t j = 0; j < p.kernel_size; ++j) {
    for (int64_t i = 0; i < p.kernel_size; ++i) fn(j * g.padded[1] + i);
  }
}

// Steps of one are the usual case, and then the loops are over neighbours.
template <class Fn>
void with_step(int64_t step, Fn&& fn) {
  if (step == 1) fn(std::integral_constant<int64_t, 1>());
  else fn(step);
}

template <class A>
void add_products(bool multiply, int64_t step, const A* a, const A* b, int64_t count, A* sums) {
  with_step(step, [&](auto s) {
    if (multiply) {
      for (int64_t x = 0; x < count; ++x) sums[x] += a[x * s] * b[x * s];
    } else {
      for (int64_t x = 0; x < count; ++x) sums[x] += std::abs(a[x * s] - b[x * s]);
    }
  });
}

// To `sums` the gradient of the products with `other`; of differences, own is that which grows.
template <class A>
void add_gradient(bool multiply, int64_t step, const A* head, const A* own, const A* other, bool first,
                  int64_t count, A* sums) {
  with_step(step, [&](auto s) {
    if (multiply) {
      for (int64_t x = 0; x < count; ++x) sums[x * s] += head[x] * other[x * s];
    } else {
      for (int64_t x = 0; x < count; ++x) {
        const bool grows = first ? own[x * s] >= other[x * s] : own[x * s] > other[x * s];
        sums[x * s] += grows ? head[x] : -head[x];
      }
    }
  });
}

// The gradient of one channel of one image: image 0 is data1.
template <class T, class A>
void plane_gradient(const CorrelationParams& p, const CorrelationGeometry& g, const Padded<A>& padded,
                    int image, int64_t plane, const T* grad, A factor, A* sums) {
  const int64_t size = plane_size(g);
  const A* const own = padded.images[image] + plane * size;
  const A* const other = padded.images[1 - image] + plane * size;
  A head[kColumns];
  std::fill_n(sums, size, A{0});
  for (int64_t number = 0; number < g.displacements(); ++number) {
    const int64_t moved = displacement(p, g, number);
    const int64_t to_own = image == 0 ? 0 : moved, to_other = image == 0 ? moved : 0;
    for (int64_t y = 0; y < g.out[0]; ++y) {
      const T* const row = grad + (number * g.out[0] + y) * g.out[1];
      for (int64_t x = 0; x < g.out[1]; x += kColumns) {
        const int64_t count = std::min(kColumns, g.out[1] - x);
        for (int64_t i = 0; i < count; ++i) head[i] = static_cast<A>(row[x + i]) * factor;
        const int64_t first = first_of_row(p, g, y) + x * p.stride1;
        each_offset(p, g, [&](int64_t offset) {
          add_gradient(p.is_multiply, p.stride1, head, own + first + offset + to_own,
                       other + first + offset + to_other, image == 0, count, sums + first + offset + to_own);
        });
      }
    }
  }
}

size_t padded_bytes(const CorrelationParams& p, const Shape& data, DType dtype) {
  const CorrelationGeometry g(p, data);
  return dtype == DType::float64 ? Padded<double>::bytes(g) : Padded<float>::bytes(g);
}

size_t correlation_scratch(const CorrelationParams& p, const KernelSpec& spec) {
  return padded_bytes(p, spec.in[0].shape, spec.in[0].dtype);
}

size_t correlation_backward_scratch(const CorrelationParams& p, const KernelSpec& spec) {
  return padded_bytes(p, spec.in[1].shape, spec.in[1].dtype) +
         slots_bytes(spec, plane_size(CorrelationGeometry(p, spec.in[1].shape)),
                     accum_size(spec.in[1].dtype));
}

void correlation_cpu(const CorrelationParams& p, const KernelArgs& args) {
  const CorrelationGeometry g(p, args.in[0].shape);
  dispatch_floating(args.out[0].dtype, "Correlation", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const Padded<A> padded(p, g, args.in[0].as<T>(), args.in[1].as<T>(), args);
    T* const out = args.out[0].mutable_as<T>();
    const A factor = A{1} / static_cast<A>(std::max<int64_t>(1, g.channels * p.kernel_size * p.kernel_size));
    engine::parallel_each(*args.context, g.batch * g.displacements() * g.out[0], 1, [&](int64_t unit) {
      const int64_t n = unit / g.out[0] / g.displacements();
      const int64_t moved = displacement(p, g, unit / g.out[0] % g.displacements());
      for (int64_t x = 0; x < g.out[1]; x += kColumns) {
        const int64_t count = std::min(kColumns, g.out[1] - x);
        A sums[kColumns] = {};
        for (int64_t c = 0; c < g.channels; ++c) {
          const int64_t first =
              (n * g.channels + c) * plane_size(g) + first_of_row(p, g, unit % g.out[0]) + x * p.stride1;
          each_offset(p, g, [&](int64_t offset) {
            add_products(p.is_multiply, p.stride1, padded.images[0] + first + offset,
                         padded.images[1] + first + offset + moved, count, sums);
          });
        }
        for (int64_t i = 0; i < count; ++i) out[unit * g.out[1] + x + i] = static_cast<T>(sums[i] * factor);
      }
    });
  });
}

void correlation_backward_cpu(const CorrelationParams& p, const KernelArgs& args) {
  const CorrelationGeometry g(p, args.in[1].shape);
  if (args.in[1].size() == 0) return;
  dispatch_floating(args.in[0].dtype, "Correlation", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const Padded<A> padded(p, g, args.in[1].as<T>(), args.in[2].as<T>(), args);
    const T* const grad = args.in[0].as<T>();
    const A factor = A{1} / static_cast<A>(g.channels * p.kernel_size * p.kernel_size);
    ScratchSlots slots = slots_of(args.scratch.subspan(Padded<A>::bytes(g)), plane_size(g), sizeof(A));
    const int64_t planes = g.batch * g.channels, size = g.in[0] * g.in[1];
    engine::parallel_for(*args.context, 2 * planes, 1, [&](int64_t begin, int64_t end) {
      const ScratchSlots::Use slot(slots);
      A* const sums = slot.template as<A>();
      for (int64_t unit = begin; unit < end; ++unit) {
        const int image = static_cast<int>(unit / planes);
        const int64_t plane = unit % planes;
        if (args.req[static_cast<size_t>(image)] == Req::null) continue;
        const T* const head = grad + plane / g.channels * g.displacements() * g.out[0] * g.out[1];
        plane_gradient(p, g, padded, image, plane, head, factor, sums);
        T* to = args.out[static_cast<size_t>(image)].mutable_as<T>() + plane * size;
        for (int64_t y = 0; y < g.in[0]; ++y, to += g.in[1]) {
          const A* const row = sums + (y + p.pad_size) * g.padded[1] + p.pad_size;
          for (int64_t x = 0; x < g.in[1]; ++x) to[x] = static_cast<T>(row[x]);
        }
      }
    });
  });
}

}  // namespace

void kernels_correlation(OpTable& table) {
  table.kernel<correlation_cpu, correlation_scratch>("Correlation", "correlation_cpu");
}

void gradients_correlation(OpTable& table) {
  table.kernel<correlation_backward_cpu, correlation_backward_scratch>("_backward_Correlation",
                                                                       "correlation_backward_cpu");
}

}  // namespace loomix::ops
