// SPDX-License-Identifier: Apache-2.0
#include "io/image/warp.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace loomix::io {

Affine Affine::inverse() const {
  const double determinant = m[0] * m[4] - m[1] * m[3];
  const double d = determinant == 0 ? 0 : 1 / determinant;
  const double a = m[4] * d, b = -m[1] * d, c = -m[3] * d, e = m[0] * d;
  return {{a, b, -a * m[2] - b * m[5], c, e, -c * m[2] - e * m[5]}};
}

void warp(const ImageView& in, const Affine& forward, uint8_t fill, Interpolation interpolation, Image& out) {
  const Affine back = forward.inverse();
  const int channels = in.channels;
  const auto value = [&](int x, int y, int c) -> int {
    const bool inside = x >= 0 && y >= 0 && x < in.width && y < in.height;
    return inside ? in.row(y)[ptrdiff_t{x} * channels + c] : fill;
  };
  // Positions in 1/32 of a pixel, as OpenCV has them. Far ones are all outside.
  constexpr double kFar = 1 << 20;
  for (int y = 0; y < out.height(); ++y) {
    uint8_t* to = out.row(y);
    for (int x = 0; x < out.width(); ++x, to += channels) {
      const double u = std::clamp(back.m[0] * x + back.m[1] * y + back.m[2], -kFar, kFar);
      const double v = std::clamp(back.m[3] * x + back.m[4] * y + back.m[5], -kFar, kFar);
      if (interpolation == Interpolation::nearest) {
        const int column = static_cast<int>(std::floor(u + 0.5)), row = static_cast<int>(std::floor(v + 0.5));
        for (int c = 0; c < channels; ++c) to[c] = static_cast<uint8_t>(value(column, row, c));
        continue;
      }
      const int u32 = static_cast<int>(std::floor(u * 32 + 0.5)),
                v32 = static_cast<int>(std::floor(v * 32 + 0.5));
      const int column = u32 >> 5, row = v32 >> 5, fx = u32 & 31, fy = v32 & 31;
      for (int c = 0; c < channels; ++c) {
        const int top = value(column, row, c) * (32 - fx) + value(column + 1, row, c) * fx;
        const int bottom = value(column, row + 1, c) * (32 - fx) + value(column + 1, row + 1, c) * fx;
        to[c] = static_cast<uint8_t>((top * (32 - fy) + bottom * fy + 512) >> 10);
      }
    }
  }
}

void pad(const ImageView& in, int top, int bottom, int left, int right, uint8_t fill, Image& out) {
  LOOMIX_CHECK(std::min({top, bottom, left, right}) >= 0, ValueError,
               "[pad] the margins are {}, {}, {} and {}; expected none below 0.", top, bottom, left, right);
  const int64_t height = int64_t{in.height} + top + bottom, width = int64_t{in.width} + left + right;
  LOOMIX_CHECK(height * width <= (int64_t{1} << 28), ValueError, "[pad] {} x {} pixels are too many.", width,
               height);
  out.reshape(static_cast<int>(height), static_cast<int>(width), in.channels);
  std::fill_n(out.data(), out.bytes(), fill);
  for (int y = 0; y < in.height; ++y) {
    std::copy_n(in.row(y), size_t(in.width) * size_t(in.channels),
                out.row(y + top) + ptrdiff_t{left} * in.channels);
  }
}

}  // namespace loomix::io
