// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "engine/parallel_for.h"
#include "ops/plane_sums.h"
#include "ops/table.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 16384;

template <class Fn>
void each(const KernelArgs& args, int64_t count, int64_t work, Fn&& fn) {
  const int64_t grain = kElementsPerThread / std::max<int64_t>(1, work);
  engine::parallel_each(*args.context, count, grain, [&](int64_t i) { fn(i); });
}

// Rows of one image inside of another: calls fn(element of the large one, element of the small one) for each.
template <class Fn>
void each_row(const CropParams& p, const Shape& large, const Shape& small, const KernelArgs& args, Fn&& fn) {
  const int64_t top = p.center_crop ? (large[2] - small[2]) / 2 : p.offset[0];
  const int64_t left = p.center_crop ? (large[3] - small[3]) / 2 : p.offset[1];
  each(args, small[0] * small[1], small[2] * small[3], [&](int64_t plane) {
    for (int64_t y = 0; y < small[2]; ++y) {
      fn((plane * large[2] + top + y) * large[3] + left, (plane * small[2] + y) * small[3]);
    }
  });
}

// One tap of the window over an image: calls fn(first element, first place, count) for each row of places, all of
// which lie on the image, `stride[2]` elements apart; and none(place, count) for places that do not.
template <class Fn, class None>
void each_run(const ConvGeometry& g, int64_t tap, Fn&& fn, None&& none) {
  const int64_t at[3] = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1],
                         tap % g.kernel[2]};
  const auto start = [&](int i) { return at[i] * g.dilate[i] - g.pad[i]; };
  // Places of a row [first, last) lie on the image.
  const int64_t step = g.stride[2], left = start(2);
  const int64_t first = std::min(g.out[2], left >= 0 ? 0 : (-left + step - 1) / step);
  const int64_t last = std::clamp((g.in[2] - left + step - 1) / step, first, g.out[2]);
  for (int64_t d = 0; d < g.out[0]; ++d) {
    const int64_t z = d * g.stride[0] + start(0);
    for (int64_t h = 0; h < g.out[1]; ++h) {
      const int64_t y = h * g.stride[1] + start(1);
      const int64_t row = (d * g.out[1] + h) * g.out[2];
      if (z < 0 || z >= g.in[0] || y < 0 || y >= g.in[1] || first == last) {
        none(row, g.out[2]);
        continue;
      }
      none(row, first);
      fn((z * g.in[1] + y) * g.in[2] + first * step + left, row + first, last - first);
      none(row + last, g.out[2] - last);
    }
  }
}

template <class T>
void unfold(const ConvGeometry& g, const T* image, T* columns, const KernelArgs& args) {
  const int64_t size = g.out_size(), taps = g.kernel_size(), step = g.stride[2];
  each(args, g.batch * g.channels * taps, size, [&](int64_t row) {
    const T* const plane = image + row / taps * g.in_size();
    T* const to = columns + row * size;
    each_run(
        g, row % taps,
        [&](int64_t from, int64_t place, int64_t count) {
          if (step == 1) std::copy_n(plane + from, count, to + place);
          else
            for (int64_t i = 0; i < count; ++i) to[place + i] = plane[from + i * step];
        },
        [&](int64_t place, int64_t count) { std::fill_n(to + place, count, T{0}); });
  });
}

void fold(const ConvGeometry& g, const KernelArgs& args) {
  const int64_t size = g.out_size(), taps = g.kernel_size(), step = g.stride[2];
  dispatch_floating(args.out[0].dtype, "col2im", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* const columns = args.in[0].as<T>();
    T* const image = args.out[0].mutable_as<T>();
    ScratchSlots slots = plane_slots<T>(args.scratch, g.in_size());
    each(args, g.batch * g.channels, taps * size, [&](int64_t plane) {
      fill_plane(slots, image + plane * g.in_size(), g.in_size(), [&](A* sums) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          const T* const row = columns + (plane * taps + tap) * size;
          each_run(
              g, tap,
              [&](int64_t to, int64_t place, int64_t count) {
                if (step == 1) {
                  for (int64_t i = 0; i < count; ++i) sums[to + i] += static_cast<A>(row[place + i]);
                } else {
                  for (int64_t i = 0; i < count; ++i) sums[to + i * step] += static_cast<A>(row[place + i]);
                }
              },
              [](int64_t, int64_t) {});
        }
      });
    });
  });
}

void crop_cpu(const CropParams& p, const KernelArgs& args) {
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) {
    const T* const data = static_cast<const T*>(args.in[0].data);
    T* const out = static_cast<T*>(args.out[0].data);
    const int64_t width = args.out[0].shape[3];
    each_row(p, args.in[0].shape, args.out[0].shape, args,
             [&](int64_t from, int64_t to) { std::copy_n(data + from, width, out + to); });
  });
}

void crop_backward_cpu(const CropParams& p, const KernelArgs& args) {
  std::memset(args.out[0].data, 0, static_cast<size_t>(args.out[0].bytes()));
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) {
    const T* const grad = static_cast<const T*>(args.in[0].data);
    T* const out = static_cast<T*>(args.out[0].data);
    const int64_t width = args.in[0].shape[3];
    each_row(p, args.out[0].shape, args.in[0].shape, args,
             [&](int64_t to, int64_t from) { std::copy_n(grad + from, width, out + to); });
  });
}

void im2col_cpu(const UnfoldParams& p, const KernelArgs& args) {
  dispatch_bits(args.out[0].dtype, [&]<class T>(Type<T>) {
    unfold(p.geometry(args.in[0].shape), static_cast<const T*>(args.in[0].data),
           static_cast<T*>(args.out[0].data), args);
  });
}

template <class P>
void fold_cpu(const P& p, const KernelArgs& args) {
  fold(p.geometry(args.out[0].shape), args);
}

size_t fold_scratch(const KernelSpec& spec) {
  const Shape& image = spec.out[0].shape;
  return plane_sums_bytes(spec, spec.out[0].dtype, image.size_between(2, image.ndim()));
}

}  // namespace

void kernels_unfold(OpTable& table) {
  table.kernel<crop_cpu>("Crop", "crop_cpu");
  table.kernel<im2col_cpu>("im2col", "im2col_cpu");
  table.kernel<fold_cpu<FoldParams>, fold_scratch>("col2im", "col2im_cpu");
}

void gradients_unfold(OpTable& table) {
  table.kernel<crop_backward_cpu>("_backward_Crop", "crop_backward_cpu");
  table.kernel<fold_cpu<UnfoldParams>, fold_scratch>("_backward_im2col", "im2col_backward_cpu");
}

}  // namespace loomix::ops
