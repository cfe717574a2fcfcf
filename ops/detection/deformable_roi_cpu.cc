// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/detection/deformable_roi_rules.h"
#include "ops/plane_sums.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class T>
using Pooling = DeformablePooling<Accum<T>, const T*>;

template <class T>
Pooling<T> pooling_of(const DeformablePSROIPoolingParams& p, const KernelArgs& args, size_t first) {
  return {p, args, first, args.in[first + 1].as<T>(), p.no_trans ? nullptr : args.in[first + 2].as<T>()};
}

void deformable_psroi_pooling_cpu(const DeformablePSROIPoolingParams& p, const KernelArgs& args) {
  const Shape& out = args.out[0].shape;
  check_rois(args.in[1], args.in[0].shape[0], "DeformablePSROIPooling");
  dispatch_floating(args.out[0].dtype, "DeformablePSROIPooling", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const Pooling<T> pooling = pooling_of<T>(p, args, 0);
    const T* const data = args.in[0].as<T>();
    T* const result = args.out[0].mutable_as<T>();
    engine::parallel_each(*args.context, out[0] * out[1], 1, [&](int64_t unit) {
      const int64_t roi = unit / out[1], c = unit % out[1], image = pooling.image(roi);
      for (int64_t at = 0; at < out[2] * out[3]; ++at) {
        const int64_t i = at / out[3], j = at % out[3];
        A sum = 0;
        int64_t count = 0;
        if (image >= 0) {
          const T* const plane =
              data + (image * pooling.channels + pooling.channel(c, i, j)) * pooling.height * pooling.width;
          count = pooling.each_point(pooling.place(roi, pooling.class_of(c), i, j),
                                     [&](const Corners<A>& corners) { sum += corners.value(plane); });
        }
        result[unit * out[2] * out[3] + at] = static_cast<T>(count > 0 ? sum / static_cast<A>(count) : A{0});
      }
    });
  });
}

size_t deformable_psroi_pooling_backward_scratch(const KernelSpec& spec) {
  return plane_sums_bytes(spec, spec.in[1].dtype, spec.in[1].shape[2] * spec.in[1].shape[3]);
}

// Each plane is added to by one thread, region by region.
template <class T>
void pooling_to_data(const Pooling<T>& pooling, const KernelArgs& args) {
  using A = Accum<T>;
  const Shape& from = args.in[0].shape;
  const int64_t size = pooling.height * pooling.width, places = from[2] * from[3];
  const int64_t groups = int64_t{pooling.p.group_size} * pooling.p.group_size;
  const T* const grad = args.in[0].as<T>();
  T* const out = args.out[0].mutable_as<T>();
  ScratchSlots slots = plane_slots<T>(args.scratch, size);
  engine::parallel_each(*args.context, args.out[0].shape[0] * pooling.channels, 1, [&](int64_t plane) {
    const int64_t channel = plane % pooling.channels, c = channel / groups;
    fill_plane(slots, out + plane * size, size, [&](A* sums) {
      for (int64_t unit = 0; unit < from[0] * places; ++unit) {
        const int64_t roi = unit / places, i = unit % places / from[3], j = unit % from[3];
        if (pooling.image(roi) != plane / pooling.channels || pooling.channel(c, i, j) != channel) continue;
        const auto place = pooling.place(roi, pooling.class_of(c), i, j);
        const int64_t count = pooling.each_point(place, [](const Corners<A>&) {});
        const A head = static_cast<A>(grad[(roi * from[1] + c) * places + unit % places]);
        const A share = head / static_cast<A>(std::max<int64_t>(count, 1));
        pooling.each_point(place, [&](const Corners<A>& corners) { corners.add(share, sums); });
      }
    });
  });
}

// Each pair of moves is summed by one thread: over the class's channels and the places that the pair moves.
template <class T>
void pooling_to_trans(const Pooling<T>& pooling, const KernelArgs& args) {
  using A = Accum<T>;
  const Shape& from = args.in[0].shape;
  const int64_t places = from[2] * from[3], parts = pooling.p.parts(), squared = parts * parts;
  const T* const grad = args.in[0].as<T>();
  const T* const data = args.in[1].as<T>();
  T* const out = args.out[1].mutable_as<T>();
  const int64_t channels = from[1] / pooling.classes;
  engine::parallel_each(*args.context, from[0] * pooling.classes * squared, 1, [&](int64_t unit) {
    const int64_t roi = unit / squared / pooling.classes, number = unit / squared % pooling.classes;
    const int64_t at_x = (roi * pooling.classes + number) * 2 * squared + unit % squared;
    A x = 0, y = 0;
    for (int64_t step = 0; pooling.image(roi) >= 0 && step < channels * places; ++step) {
      const int64_t c = number * channels + step / places, i = step % places / from[3], j = step % from[3];
      if (pooling.move_at(roi, number, i, j) != at_x) continue;
      const T* const plane = data + (pooling.image(roi) * pooling.channels + pooling.channel(c, i, j)) *
                                        pooling.height * pooling.width;
      const auto place = pooling.place(roi, number, i, j);
      A slope_x = 0, slope_y = 0;
      const int64_t count = pooling.each_point(place, [&](const Corners<A>& corners) {
        const Slope<A> slope = corners.slope(plane);
        slope_x += slope.x;
        slope_y += slope.y;
      });
      const A share = static_cast<A>(grad[(roi * from[1] + c) * places + step % places]) *
                      static_cast<A>(pooling.p.trans_std) / static_cast<A>(std::max<int64_t>(count, 1));
      x += share * slope_x * place.width;
      y += share * slope_y * place.height;
    }
    out[at_x] = static_cast<T>(x);
    out[at_x + squared] = static_cast<T>(y);
  });
}

void deformable_psroi_pooling_backward_cpu(const DeformablePSROIPoolingParams& p, const KernelArgs& args) {
  if (args.in[1].size() == 0) return;
  check_rois(args.in[2], args.in[1].shape[0], "DeformablePSROIPooling");
  dispatch_floating(args.in[0].dtype, "DeformablePSROIPooling", [&]<class T>(Type<T>) {
    const Pooling<T> pooling = pooling_of<T>(p, args, 1);
    if (args.req[0] != Req::null) pooling_to_data(pooling, args);
    if (!p.no_trans && args.req[1] != Req::null) pooling_to_trans(pooling, args);
  });
}

}  // namespace

void kernels_deformable_roi(OpTable& table) {
  table.kernel<deformable_psroi_pooling_cpu>("_contrib_DeformablePSROIPooling",
                                             "deformable_psroi_pooling_cpu");
}

void gradients_deformable_roi(OpTable& table) {
  table.kernel<deformable_psroi_pooling_backward_cpu, deformable_psroi_pooling_backward_scratch>(
      "_backward__contrib_DeformablePSROIPooling", "deformable_psroi_pooling_backward_cpu");
}

}  // namespace loomix::ops
