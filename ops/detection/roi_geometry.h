// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/detection/bilinear_point.h"
#include "ops/detection/roi.h"
#include "ops/whole_number.h"

// What regions cover of a plane, for hosts and devices. Planes and regions are what [i] gives numbers of.
namespace loomix::ops {

// The elements [begin, end) of an axis of `size` that part i of `parts` covers.
struct Covered {
  int64_t begin, end;
};

template <class A>
constexpr Covered clipped(A begin, A end, int64_t size) {
  const A top = static_cast<A>(size);
  return {static_cast<int64_t>(std::clamp(std::floor(begin), A{0}, top)),
          static_cast<int64_t>(std::clamp(std::ceil(end), A{0}, top))};
}

// Box of ROIPooling along one axis, in whole elements.
template <class A>
struct WholeAxis {
  A first, part;
  constexpr WholeAxis(A from, A to, A scale, int64_t parts) : first(std::round(from * scale)) {
    part = std::max(std::round(to * scale) - first + 1, A{1}) / static_cast<A>(parts);
  }
  constexpr Covered extent(int64_t i, int64_t size) const {
    return clipped(std::floor(static_cast<A>(i) * part) + first,
                   std::ceil(static_cast<A>(i + 1) * part) + first, size);
  }
};

// Box of PSROIPooling along one axis.
template <class A>
struct ScaledAxis {
  A first, part;
  constexpr ScaledAxis(A from, A to, A scale, int64_t parts) : first(std::round(from) * scale) {
    part = std::max((std::round(to) + 1) * scale - first, A(0.1)) / static_cast<A>(parts);
  }
  constexpr Covered extent(int64_t i, int64_t size) const {
    return clipped(static_cast<A>(i) * part + first, static_cast<A>(i + 1) * part + first, size);
  }
};

// Rows and columns of a box, with the number of its image.
template <class A, class Axis>
struct Box {
  int64_t image;
  Axis rows, columns;
  template <class Numbers>  // [i] gives a number of the region
  constexpr Box(const Numbers& roi, A scale, int64_t height, int64_t width)
      : image(static_cast<A>(roi[0]) < 0 ? -1 : whole_number(static_cast<A>(roi[0]))),
        rows(static_cast<A>(roi[2]), static_cast<A>(roi[4]), scale, height),
        columns(static_cast<A>(roi[1]), static_cast<A>(roi[3]), scale, width) {}
};

// What the grids of an operator share.
struct PointSizes {
  int64_t rows, columns;  // places of the output
  int ratio;              // points along each axis of a place; else one an element
  float scale;
  bool turned, aligned;

  explicit PointSizes(const ROIAlignParams& p)
      : rows(p.pooled_size[0]),
        columns(p.pooled_size[1]),
        ratio(p.sample_ratio),
        scale(p.spatial_scale),
        turned(false),
        aligned(p.aligned) {}
  explicit PointSizes(const RROIAlignParams& p)
      : rows(p.pooled_size[0]),
        columns(p.pooled_size[1]),
        ratio(p.sampling_ratio),
        scale(p.spatial_scale),
        turned(true),
        aligned(false) {}
};

// Points of ROIAlign and RROIAlign: where they are, and how many a place of the output has.
template <class A>
struct PointGrid {
  int64_t image = -1, rows = 0, columns = 0;   // points of a place
  A top = 0, left = 0, height = 0, width = 0;  // of the first place; sizes of each
  A cosine = 1, sine = 0, x = 0, y = 0;        // how the box is turned, and about what it is

  constexpr A count() const { return static_cast<A>(std::max<int64_t>(rows * columns, 1)); }
  // Point (r, c) of place (i, j), in the box and in the image.
  constexpr A down(int64_t i, int64_t r) const {
    return top + (static_cast<A>(i) + (static_cast<A>(r) + A(0.5)) / static_cast<A>(rows)) * height;
  }
  constexpr A across(int64_t j, int64_t c) const {
    return left + (static_cast<A>(j) + (static_cast<A>(c) + A(0.5)) / static_cast<A>(columns)) * width;
  }
  constexpr A x_of(A right, A below) const { return right * cosine + below * sine + x; }
  constexpr A y_of(A right, A below) const { return below * cosine - right * sine + y; }
  template <class Fn>
  constexpr void each_point(int64_t i, int64_t j, Fn&& fn) const {
    for (int64_t r = 0; r < rows; ++r) {
      const A below = down(i, r);
      for (int64_t c = 0; c < columns; ++c) {
        const A right = across(j, c);
        fn(x_of(right, below), y_of(right, below));
      }
    }
  }
  constexpr void cut(A box_height, A box_width, const PointSizes& sizes) {
    height = box_height / static_cast<A>(sizes.rows);
    width = box_width / static_cast<A>(sizes.columns);
    rows = sizes.ratio > 0 ? sizes.ratio : static_cast<int64_t>(std::ceil(height));
    columns = sizes.ratio > 0 ? sizes.ratio : static_cast<int64_t>(std::ceil(width));
  }
};

// `roi` is what [i] gives a number of: image, corners.
template <class A, class Numbers>
constexpr PointGrid<A> straight_grid(const PointSizes& sizes, const Numbers& roi) {
  PointGrid<A> grid;
  const A scale = static_cast<A>(sizes.scale), offset = sizes.aligned ? A(0.5) : A{0};
  if (static_cast<A>(roi[0]) < 0) return grid;
  grid.image = whole_number(static_cast<A>(roi[0]));
  grid.left = static_cast<A>(roi[1]) * scale - offset;
  grid.top = static_cast<A>(roi[2]) * scale - offset;
  A width = static_cast<A>(roi[3]) * scale - offset - grid.left;
  A height = static_cast<A>(roi[4]) * scale - offset - grid.top;
  if (!sizes.aligned) {
    width = std::max(width, A{1});
    height = std::max(height, A{1});
  }
  grid.cut(height, width, sizes);
  return grid;
}

// Image, centre, sizes, degrees.
template <class A, class Numbers>
constexpr PointGrid<A> turned_grid(const PointSizes& sizes, const Numbers& roi) {
  PointGrid<A> grid;
  const A scale = static_cast<A>(sizes.scale);
  if (static_cast<A>(roi[0]) < 0) return grid;
  grid.image = whole_number(static_cast<A>(roi[0]));
  grid.x = static_cast<A>(roi[1]) * scale;
  grid.y = static_cast<A>(roi[2]) * scale;
  const A width = std::max(static_cast<A>(roi[3]) * scale, A{1});
  const A height = std::max(static_cast<A>(roi[4]) * scale, A{1});
  const A angle = static_cast<A>(roi[5]) * static_cast<A>(M_PI) / 180;
  grid.cosine = std::cos(angle);
  grid.sine = std::sin(angle);
  grid.left = -width / 2;
  grid.top = -height / 2;
  grid.cut(height, width, sizes);
  return grid;
}

template <class A, class Numbers>
constexpr PointGrid<A> grid_of(const PointSizes& sizes, const Numbers& roi) {
  return sizes.turned ? turned_grid<A>(sizes, roi) : straight_grid<A>(sizes, roi);
}

// The first of the largest elements, or of the NaNs; nothing gives 0 at -1.
template <class A>
struct Most {
  A value = 0;
  int64_t at = -1;
};

template <class A, class Plane>
constexpr Most<A> largest(const Plane& plane, int64_t width, const Covered& rows, const Covered& columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return {};
  Most<A> most{static_cast<A>(plane[rows.begin * width + columns.begin]), rows.begin * width + columns.begin};
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t at = y * width + columns.begin; at < y * width + columns.end; ++at) {
      const A value = static_cast<A>(plane[at]);
      if (!(value <= most.value) && most.value == most.value) most = {value, at};
    }
  }
  return most;
}

// The channel of the data that a place of PSROIPooling reads.
constexpr int64_t group_channel(int64_t groups, int64_t parts, int64_t channel, int64_t i, int64_t j) {
  return (channel * groups + i * groups / parts) * groups + j * groups / parts;
}

// Whether number `i` of a region is one that check_rois() lets through.
constexpr bool is_region_number(double value, int64_t i, int64_t batch) {
  return std::abs(value) < kMostRegionNumber && (i != 0 || value < static_cast<double>(batch));
}

}  // namespace loomix::ops
