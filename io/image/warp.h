// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/image/image.h"
#include "io/image/resize.h"

namespace loomix::io {

// x' = m[0] x + m[1] y + m[2], y' = m[3] x + m[4] y + m[5].
struct Affine {
  double m[6];
  Affine inverse() const;
};

// The image moved by `forward`; pixels from outside it have `fill`. Interpolates bilinearly, or takes the nearest.
void warp(const ImageView& in, const Affine& forward, uint8_t fill, Interpolation interpolation, Image& out);

// Adds margins of one value.
void pad(const ImageView& in, int top, int bottom, int left, int right, uint8_t fill, Image& out);

}  // namespace loomix::io
