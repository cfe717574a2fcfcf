// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/bilinear_corners.h"
#include "ops/conv/deformable.h"

namespace loomix::ops {

// Where the taps of a deformable convolution read an image, for hosts and devices. Numbers are what [i] gives one of.
template <class A, class Numbers>
struct TapPlaces {
  int64_t height, width, kernel_width, taps, out_width, pixels;
  int64_t stride[2], dilate[2], pad[2];
  bool modulated;
  Numbers offset, mask;  // of one image; the latter only in the modulated form

  TapPlaces(const ConvGeometry& g, bool is_modulated, Numbers offsets, Numbers factors)
      : height(g.in[1]),
        width(g.in[2]),
        kernel_width(g.kernel[2]),
        taps(g.kernel_size()),
        out_width(g.out[2]),
        pixels(g.out_size()),
        stride{g.stride[1], g.stride[2]},
        dilate{g.dilate[1], g.dilate[2]},
        pad{g.pad[1], g.pad[2]},
        modulated(is_modulated),
        offset(offsets),
        mask(factors) {}

  constexpr Corners<A> place(int64_t group, int64_t tap, int64_t pixel) const {
    const int64_t moved = 2 * (group * taps + tap) * pixels + pixel;
    const A y = static_cast<A>(pixel / out_width * stride[0] - pad[0] + tap / kernel_width * dilate[0]) +
                static_cast<A>(offset[moved]);
    const A x = static_cast<A>(pixel % out_width * stride[1] - pad[1] + tap % kernel_width * dilate[1]) +
                static_cast<A>(offset[moved + pixels]);
    return modulated ? corners(x, y, height, width) : edge_corners(x, y, height, width);
  }
  constexpr A factor(int64_t group, int64_t tap, int64_t pixel) const {
    return modulated ? static_cast<A>(mask[(group * taps + tap) * pixels + pixel]) : A{1};
  }
};

constexpr int64_t lines(int64_t count) { return (count + 15) / 16 * 16; }

// The pieces of the run's scratch memory, in numbers of the type of sums.
struct DeformablePieces {
  int64_t columns, weight, image, sums;  // the last three for half types only

  DeformablePieces(const ConvGeometry& g, DType dtype, bool backward) {
    const bool wide = dtype == DType::float32 || dtype == DType::float64;
    columns = lines(g.groups * g.depth() * g.out_size());
    weight = wide ? 0 : lines(g.groups * g.filters * g.depth());
    image = wide ? 0 : lines(g.groups * g.filters * g.out_size());
    sums = backward ? weight : 0;
  }
  int64_t all() const { return columns + weight + image + sums; }
};

}  // namespace loomix::ops
