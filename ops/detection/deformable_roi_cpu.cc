// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "engine/parallel_for.h"
#include "ops/bilinear_corners.h"
#include "ops/detection/roi.h"
#include "ops/plane_sums.h"
#include "ops/table.h"
#include "ops/whole_number.h"

namespace loomix::ops {
namespace {

// What the points of one run share.
template <class T>
struct Pooling {
  using A = Accum<T>;
  const DeformablePSROIPoolingParams& p;
  const T *rois, *trans;  // trans may be null
  int64_t channels, height, width, classes;

  Pooling(const DeformablePSROIPoolingParams& params, const KernelArgs& args, size_t first)
      : p(params),
        rois(args.in[first + 1].as<T>()),
        trans(params.no_trans ? nullptr : args.in[first + 2].as<T>()),
        channels(args.in[first].shape[1]),
        height(args.in[first].shape[2]),
        width(args.in[first].shape[3]),
        classes(params.no_trans ? 1 : args.in[first + 2].shape[1] / 2) {}

  int64_t image(int64_t roi) const {
    const A number = static_cast<A>(rois[roi * 5]);
    return number < 0 ? -1 : whole_number(number);
  }
  int64_t group(int64_t i) const {
    return std::min<int64_t>(i * p.group_size / p.pooled_size, p.group_size - 1);
  }
  // The channel of the data that channel `c` of the output reads at (i, j).
  int64_t channel(int64_t c, int64_t i, int64_t j) const {
    return (c * p.group_size + group(i)) * p.group_size + group(j);
  }
  // Where in `trans` the move along x of class `number` at (i, j) is; that along y is parts() squared behind.
  int64_t move_at(int64_t roi, int64_t number, int64_t i, int64_t j) const {
    const int64_t parts = p.parts();
    return ((roi * classes + number) * 2 * parts + i * parts / p.pooled_size) * parts +
           j * parts / p.pooled_size;
  }
  int64_t class_of(int64_t c) const { return c / std::max<int64_t>(1, p.output_dim / classes); }

  struct Place {
    A left, top, width, height;  // of the part; the box's sizes
    A step_x, step_y;
  };
  Place place(int64_t roi, int64_t number, int64_t i, int64_t j) const {
    const T* const box = rois + roi * 5;
    const A scale = static_cast<A>(p.spatial_scale), parts = static_cast<A>(p.pooled_size);
    const auto begin = [&](int k) { return std::round(static_cast<A>(box[k])) * scale - A(0.5); };
    const auto size = [&](int k) {
      return std::max((std::round(static_cast<A>(box[k + 2])) + 1) * scale - A(0.5) - begin(k), A(0.1));
    };
    Place place{begin(1), begin(2), size(1), size(2), 0, 0};
    const auto points = static_cast<A>(p.sample_per_part);
    place.step_x = place.width / parts / points;
    place.step_y = place.height / parts / points;
    place.left += static_cast<A>(j) * place.width / parts;
    place.top += static_cast<A>(i) * place.height / parts;
    if (trans) {
      const int64_t at = move_at(roi, number, i, j), y = int64_t{p.parts()} * p.parts();
      place.left += static_cast<A>(trans[at]) * static_cast<A>(p.trans_std) * place.width;
      place.top += static_cast<A>(trans[at + y]) * static_cast<A>(p.trans_std) * place.height;
    }
    return place;
  }

  // fn(corners) for each point that is not beyond the image's edge; returns how many.
  template <class Fn>
  int64_t each_point(const Place& place, Fn&& fn) const {
    int64_t count = 0;
    for (int r = 0; r < p.sample_per_part; ++r) {
      for (int c = 0; c < p.sample_per_part; ++c) {
        const A x = place.left + static_cast<A>(c) * place.step_x,
                y = place.top + static_cast<A>(r) * place.step_y;
        const bool near = x >= A(-0.5) && x <= static_cast<A>(width) - A(0.5) && y >= A(-0.5) &&
                          y <= static_cast<A>(height) - A(0.5);
        if (!near) continue;
        ++count;
        auto around = edge_corners(std::clamp(x, A{0}, static_cast<A>(width - 1)),
                                   std::clamp(y, A{0}, static_cast<A>(height - 1)), height, width);
        // Before the first element nothing changes, as behind the last one.
        if (x < 0) around.at[1] = around.at[0], around.at[3] = around.at[2];
        if (y < 0) around.at[2] = around.at[0], around.at[3] = around.at[1];
        fn(around);
      }
    }
    return count;
  }
};

void deformable_psroi_pooling_cpu(const DeformablePSROIPoolingParams& p, const KernelArgs& args) {
  const Shape& out = args.out[0].shape;
  check_rois(args.in[1], args.in[0].shape[0], "DeformablePSROIPooling");
  dispatch_floating(args.out[0].dtype, "DeformablePSROIPooling", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const Pooling<T> pooling(p, args, 0);
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
    const Pooling<T> pooling(p, args, 1);
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
