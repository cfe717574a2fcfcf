// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "engine/parallel_for.h"
#include "ops/bilinear_corners.h"
#include "ops/plane_sums.h"
#include "ops/table.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

constexpr int64_t kPixels = 64;    // of the output, whose places are computed at once
constexpr int64_t kChannels = 16;  // for which they are then used

// Where a pixel of item n comes from: read from a grid, or transformed.
template <class T>
struct FromGrid {
  const T* grid;
  int64_t pixels;
  void at(int64_t n, int64_t pixel, Accum<T>& x, Accum<T>& y) const {
    x = static_cast<Accum<T>>(grid[n * 2 * pixels + pixel]);
    y = static_cast<Accum<T>>(grid[(n * 2 + 1) * pixels + pixel]);
  }
};

template <class T>
struct FromTransform {
  const T* loc;
  int64_t height, width;
  void at(int64_t n, int64_t pixel, Accum<T>& x, Accum<T>& y) const {
    using A = Accum<T>;
    const A to_x = grid_coordinate<A>(pixel % width, width), to_y = grid_coordinate<A>(pixel / width, height);
    const T* const six = loc + n * 6;
    x = static_cast<A>(six[0]) * to_x + static_cast<A>(six[1]) * to_y + static_cast<A>(six[2]);
    y = static_cast<A>(six[3]) * to_x + static_cast<A>(six[4]) * to_y + static_cast<A>(six[5]);
  }
};

template <class T, class Places>
Corners<Accum<T>> corners_at(const Places& places, int64_t n, int64_t pixel, const Shape& data) {
  Accum<T> x, y;
  places.at(n, pixel, x, y);
  return corners(grid_element(x, data[3]), grid_element(y, data[2]), data[2], data[3]);
}

// Units of work: some pixels of some channels of an image.
template <class T, class Places>
void sample(const Places& places, const KernelArgs& args) {
  using A = Accum<T>;
  const Shape& in = args.in[0].shape;
  const Shape& out = args.out[0].shape;
  const int64_t pixels = out[2] * out[3], blocks = (pixels + kPixels - 1) / kPixels;
  const int64_t parts = (in[1] + kChannels - 1) / kChannels;
  const T* const data = args.in[0].as<T>();
  T* const result = args.out[0].mutable_as<T>();
  engine::parallel_for(*args.context, in[0] * parts * blocks, 4, [&](int64_t begin, int64_t end) {
    Corners<A> around[kPixels];
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t n = unit / blocks / parts, first = unit % blocks * kPixels;
      const int64_t count = std::min(kPixels, pixels - first);
      for (int64_t i = 0; i < count; ++i) around[i] = corners_at<T>(places, n, first + i, in);
      const int64_t channel = unit / blocks % parts * kChannels;
      for (int64_t c = channel; c < std::min(channel + kChannels, in[1]); ++c) {
        const T* const plane = data + (n * in[1] + c) * in[2] * in[3];
        T* const to = result + (n * in[1] + c) * pixels + first;
        for (int64_t i = 0; i < count; ++i) {
          to[i] = static_cast<T>(around[i].value(plane));
        }
      }
    }
  });
}

}  // namespace

void bilinear_sampler_cpu(const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "BilinearSampler", [&]<class T>(Type<T>) {
    sample<T>(FromGrid<T>{args.in[1].as<T>(), args.out[0].shape[2] * args.out[0].shape[3]}, args);
  });
}

void spatial_transformer_cpu(const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "SpatialTransformer", [&]<class T>(Type<T>) {
    sample<T>(FromTransform<T>{args.in[1].as<T>(), args.out[0].shape[2], args.out[0].shape[3]}, args);
  });
}

size_t bilinear_sampler_data_scratch(const KernelSpec& spec) {
  const Shape& out = spec.out[0].shape;
  return plane_sums_bytes(spec, spec.out[0].dtype, std::min(kChannels, out[1]) * out[2] * out[3]);
}

// Some planes of an image are added to by one thread, in order.
void bilinear_sampler_data_cpu(const KernelArgs& args) {
  const Shape& out = args.out[0].shape;
  const int64_t pixels = args.in[0].shape[2] * args.in[0].shape[3], size = out[2] * out[3];
  dispatch_floating(args.out[0].dtype, "BilinearSampler", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const FromGrid<T> places{args.in[2].as<T>(), pixels};
    const T* const grad = args.in[0].as<T>();
    T* const result = args.out[0].mutable_as<T>();
    ScratchSlots slots = plane_slots<T>(args.scratch, std::min(kChannels, out[1]) * size);
    const int64_t parts = (out[1] + kChannels - 1) / kChannels;
    engine::parallel_for(*args.context, out[0] * parts, 1, [&](int64_t begin, int64_t end) {
      Corners<A> around[kPixels];
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t n = unit / parts, channel = unit % parts * kChannels;
        const int64_t planes = std::min(kChannels, out[1] - channel), plane = n * out[1] + channel;
        fill_plane(slots, result + plane * size, planes * size, [&](A* sums) {
          for (int64_t first = 0; first < pixels; first += kPixels) {
            const int64_t count = std::min(kPixels, pixels - first);
            for (int64_t i = 0; i < count; ++i) around[i] = corners_at<T>(places, n, first + i, out);
            for (int64_t c = 0; c < planes; ++c) {
              const T* const head = grad + (plane + c) * pixels + first;
              for (int64_t i = 0; i < count; ++i) around[i].add(static_cast<A>(head[i]), sums + c * size);
            }
          }
        });
      }
    });
  });
}

void bilinear_sampler_grid_cpu(const KernelArgs& args) {
  const Shape& in = args.in[1].shape;
  const Shape& out = args.out[0].shape;
  const int64_t pixels = out[2] * out[3], blocks = (pixels + kPixels - 1) / kPixels;
  dispatch_floating(args.out[0].dtype, "BilinearSampler", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const FromGrid<T> places{args.in[2].as<T>(), pixels};
    const T* const grad = args.in[0].as<T>();
    const T* const data = args.in[1].as<T>();
    T* const result = args.out[0].mutable_as<T>();
    engine::parallel_each(*args.context, in[0] * blocks, 1, [&](int64_t unit) {
      const int64_t n = unit / blocks, first = unit % blocks * kPixels;
      const int64_t count = std::min(kPixels, pixels - first);
      Corners<A> around[kPixels];
      A to_x[kPixels] = {}, to_y[kPixels] = {};
      for (int64_t i = 0; i < count; ++i) around[i] = corners_at<T>(places, n, first + i, in);
      for (int64_t c = 0; c < in[1]; ++c) {
        const T* const plane = data + (n * in[1] + c) * in[2] * in[3];
        const T* const head = grad + (n * in[1] + c) * pixels + first;
        for (int64_t i = 0; i < count; ++i) {
          const Slope<A> slope = around[i].slope(plane);
          to_x[i] += static_cast<A>(head[i]) * slope.x;
          to_y[i] += static_cast<A>(head[i]) * slope.y;
        }
      }
      T* const to = result + n * 2 * pixels + first;
      for (int64_t i = 0; i < count; ++i) {
        to[i] = static_cast<T>(to_x[i] * static_cast<A>(in[3] - 1) / 2);
        to[pixels + i] = static_cast<T>(to_y[i] * static_cast<A>(in[2] - 1) / 2);
      }
    });
  });
}

void grid_generator_cpu(const GridGeneratorParams& p, const KernelArgs& args) {
  const Shape& out = args.out[0].shape;
  const int64_t pixels = out[2] * out[3];
  dispatch_floating(args.out[0].dtype, "GridGenerator", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const data = args.in[0].as<T>();
    T* const result = args.out[0].mutable_as<T>();
    const FromTransform<T> places{data, out[2], out[3]};
    engine::parallel_each(*args.context, out[0] * out[2], 64, [&](int64_t row) {
      const int64_t n = row / out[2], y = row % out[2];
      const int64_t at = n * 2 * pixels + y * out[3];
      for (int64_t x = 0; x < out[3]; ++x) {
        A to_x, to_y;
        if (p.transform_type == Transform::affine) {
          places.at(n, y * out[3] + x, to_x, to_y);
        } else {
          const auto moved = [&](int64_t i, int64_t from, int64_t size) {
            return (static_cast<A>(data[i]) + static_cast<A>(from)) * 2 / static_cast<A>(size - 1) - 1;
          };
          to_x = moved(at + x, x, out[3]);
          to_y = moved(at + pixels + x, y, out[2]);
        }
        result[at + x] = static_cast<T>(to_x);
        result[at + pixels + x] = static_cast<T>(to_y);
      }
    });
  });
}

void grid_generator_backward_cpu(const GridGeneratorParams& p, const KernelArgs& args) {
  const Shape& in = args.in[0].shape;
  const int64_t pixels = in[2] * in[3];
  dispatch_floating(args.out[0].dtype, "GridGenerator", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const grad = args.in[0].as<T>();
    T* const result = args.out[0].mutable_as<T>();
    engine::parallel_each(*args.context, in[0] * 2, 1, [&](int64_t plane) {
      const T* const head = grad + plane * pixels;
      if (p.transform_type == Transform::warp) {
        const A factor = A{2} / static_cast<A>((plane % 2 ? in[2] : in[3]) - 1);
        for (int64_t i = 0; i < pixels; ++i) {
          result[plane * pixels + i] = static_cast<T>(static_cast<A>(head[i]) * factor);
        }
        return;
      }
      A sums[3] = {};
      for (int64_t i = 0; i < pixels; ++i) {
        const A g = static_cast<A>(head[i]);
        sums[0] += g * grid_coordinate<A>(i % in[3], in[3]);
        sums[1] += g * grid_coordinate<A>(i / in[3], in[2]);
        sums[2] += g;
      }
      for (int64_t i = 0; i < 3; ++i) result[plane * 3 + i] = static_cast<T>(sums[i]);
    });
  });
}

void kernels_sampler(OpTable& table) {
  table.kernel<grid_generator_cpu>("GridGenerator", "grid_generator_cpu");
  table.kernel<bilinear_sampler_cpu>("BilinearSampler", "bilinear_sampler_cpu");
  table.kernel<spatial_transformer_cpu>("SpatialTransformer", "spatial_transformer_cpu");
}

void gradients_sampler(OpTable& table) {
  table.kernel<grid_generator_backward_cpu>("_backward_GridGenerator", "grid_generator_backward_cpu");
  table.kernel<bilinear_sampler_data_cpu, bilinear_sampler_data_scratch>("_backward_BilinearSampler_data",
                                                                         "bilinear_sampler_data_cpu");
  table.kernel<bilinear_sampler_grid_cpu>("_backward_BilinearSampler_grid", "bilinear_sampler_grid_cpu");
}

}  // namespace loomix::ops
