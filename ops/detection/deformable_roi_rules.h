// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/bilinear_corners.h"
#include "ops/detection/roi.h"
#include "ops/whole_number.h"

// The points of DeformablePSROIPooling, for hosts and devices. Numbers are what [i] gives one of.
namespace loomix::ops {

// What the points of one run share.
template <class A, class Numbers>
struct DeformablePooling {
  DeformablePSROIPoolingParams p;
  Numbers rois, trans;  // the latter only where regions are moved
  int64_t channels, height, width, classes;

  DeformablePooling(const DeformablePSROIPoolingParams& params, const KernelArgs& args, size_t first,
                    Numbers regions, Numbers moves)
      : p(params),
        rois(regions),
        trans(moves),
        channels(args.in[first].shape[1]),
        height(args.in[first].shape[2]),
        width(args.in[first].shape[3]),
        classes(params.no_trans ? 1 : args.in[first + 2].shape[1] / 2) {}

  constexpr int64_t image(int64_t roi) const {
    const A number = static_cast<A>(rois[roi * 5]);
    return number < 0 ? -1 : whole_number(number);
  }
  constexpr int64_t group(int64_t i) const {
    return std::min<int64_t>(i * p.group_size / p.pooled_size, p.group_size - 1);
  }
  // The channel of the data that channel `c` of the output reads at (i, j).
  constexpr int64_t channel(int64_t c, int64_t i, int64_t j) const {
    return (c * p.group_size + group(i)) * p.group_size + group(j);
  }
  // Where in `trans` the move along x of class `number` at (i, j) is; that along y is parts() squared behind.
  constexpr int64_t move_at(int64_t roi, int64_t number, int64_t i, int64_t j) const {
    const int64_t parts = p.parts();
    return ((roi * classes + number) * 2 * parts + i * parts / p.pooled_size) * parts +
           j * parts / p.pooled_size;
  }
  constexpr int64_t class_of(int64_t c) const { return c / std::max<int64_t>(1, p.output_dim / classes); }

  struct Place {
    A left, top, width, height;  // of the part; the box's sizes
    A step_x, step_y;
  };
  constexpr Place place(int64_t roi, int64_t number, int64_t i, int64_t j) const {
    const A scale = static_cast<A>(p.spatial_scale), parts = static_cast<A>(p.pooled_size);
    const auto begin = [&](int k) { return std::round(static_cast<A>(rois[roi * 5 + k])) * scale - A(0.5); };
    const auto size = [&](int k) {
      return std::max((std::round(static_cast<A>(rois[roi * 5 + k + 2])) + 1) * scale - A(0.5) - begin(k),
                      A(0.1));
    };
    Place place{begin(1), begin(2), size(1), size(2), 0, 0};
    const auto points = static_cast<A>(p.sample_per_part);
    place.step_x = place.width / parts / points;
    place.step_y = place.height / parts / points;
    place.left += static_cast<A>(j) * place.width / parts;
    place.top += static_cast<A>(i) * place.height / parts;
    if (!p.no_trans) {
      const int64_t at = move_at(roi, number, i, j), y = int64_t{p.parts()} * p.parts();
      place.left += static_cast<A>(trans[at]) * static_cast<A>(p.trans_std) * place.width;
      place.top += static_cast<A>(trans[at + y]) * static_cast<A>(p.trans_std) * place.height;
    }
    return place;
  }

  // fn(corners) for each point that is not beyond the image's edge; returns how many.
  template <class Fn>
  constexpr int64_t each_point(const Place& place, Fn&& fn) const {
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

}  // namespace loomix::ops
