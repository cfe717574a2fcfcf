// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "io/image/resize.h"

// Which pixels along one axis a pixel of a resized image is made of, for hosts and devices.
namespace loomix::io {

inline constexpr float kCubic = -0.75f;  // the free parameter of the bicubic kernel

constexpr void cubic_weights(float x, float* w) {
  const auto outer = [](float t) { return ((kCubic * t - 5 * kCubic) * t + 8 * kCubic) * t - 4 * kCubic; };
  const auto inner = [](float t) { return ((kCubic + 2) * t - (kCubic + 3)) * t * t + 1; };
  w[0] = outer(x + 1);
  w[1] = inner(x);
  w[2] = inner(1 - x);
  w[3] = 1 - w[0] - w[1] - w[2];
}

// sinc(t) sinc(t / 4) at the eight neighbours, scaled to the sum 1.
constexpr void lanczos_weights(float x, float* w) {
  if (x < 1e-7f) {
    for (int i = 0; i < 8; ++i) w[i] = i == 3 ? 1.0f : 0.0f;
    return;
  }
  float sum = 0;
  for (int i = 0; i < 8; ++i) {
    const double t = std::numbers::pi * (x + 3 - i);
    w[i] = static_cast<float>(std::sin(t) * std::sin(t / 4) / (t * t / 4));
    sum += w[i];
  }
  for (int i = 0; i < 8; ++i) w[i] /= sum;
}

constexpr int tap_count(Interpolation interpolation, double scale) {
  switch (interpolation) {
    case Interpolation::nearest: return 1;
    case Interpolation::bilinear: return 2;
    case Interpolation::bicubic: return 4;
    case Interpolation::lanczos: return 8;
    case Interpolation::area: return static_cast<int>(std::ceil(scale)) + 1;
  }
  return 1;
}

// Overlap of the source pixels with the stretch of each target pixel.
constexpr void area_taps(int i, double scale, int from, int count, int* at, float* weight) {
  const double begin = i * scale, end = std::min<double>(begin + scale, from);
  const int first = std::min(static_cast<int>(std::floor(begin + 1e-9)), from - 1);
  for (int k = 0; k < count; ++k) {
    const int place = first + k;
    const double overlap = std::min<double>(place + 1, end) - std::max<double>(place, begin);
    at[k] = std::min(place, from - 1);
    weight[k] = place < from && overlap > 1e-3 ? static_cast<float>(overlap / (end - begin)) : 0;
  }
  float sum = 0;
  for (int k = 0; k < count; ++k) sum += weight[k];
  for (int k = 0; k < count; ++k) weight[k] /= sum;
}

constexpr void taps_of(Interpolation interpolation, bool overlaps, int i, double scale, int from, int to,
                       int count, int* at, float* weight) {
  int first = 0;
  float x = 0;
  if (interpolation == Interpolation::nearest) {
    at[0] = std::min(static_cast<int>(std::floor(i * scale)), from - 1);
    weight[0] = 1;
    return;
  }
  if (interpolation == Interpolation::area) {
    if (overlaps) return area_taps(i, scale, from, count, at, weight);
    // Enlarged, a pixel is its source pixel, but for the one where two source pixels meet.
    first = static_cast<int>(std::floor(i * scale));
    x = static_cast<float>(i + 1 - (first + 1) * (static_cast<double>(to) / from));
    x = x <= 0 ? 0 : x - std::floor(x);
  } else {
    const float place = static_cast<float>((i + 0.5) * scale - 0.5);
    first = static_cast<int>(std::floor(place));
    x = place - static_cast<float>(first);
  }
  if (count == 2) {
    weight[0] = 1 - x;
    weight[1] = x;
  } else if (count == 4) {
    cubic_weights(x, weight);
  } else {
    lanczos_weights(x, weight);
  }
  for (int k = 0; k < count; ++k) at[k] = std::clamp(first + k - (count / 2 - 1), 0, from - 1);
}

// One axis of a resize. `area_enlarges`: see below; `round_weights`: for bytes.
struct AxisTaps {
  Interpolation interpolation;
  int from, to;
  bool overlaps, rounds;
  double scale;
  int count;  // of pixels that one is made of

  constexpr AxisTaps(int from_size, int to_size, Interpolation how, bool area_enlarges, bool round_weights)
      : interpolation(how),
        from(from_size),
        to(to_size),
        overlaps(how == Interpolation::area && !area_enlarges),
        rounds(round_weights && !overlaps),
        // As OpenCV computes it: the quotient itself may be one bit off, and a pixel that is not interpolated another one.
        scale(1.0 / (static_cast<double>(to_size) / from_size)),
        count(how == Interpolation::area && !overlaps ? 2 : tap_count(how, scale)) {}
  constexpr void make(int i, int* at, float* weight) const {
    taps_of(interpolation, overlaps, i, scale, from, to, count, at, weight);
    // OpenCV computes these with weights of 11 bits.
    for (int k = 0; rounds && k < count; ++k) weight[k] = std::rint(weight[k] * 2048) / 2048;
  }
};

// Where one side grows, OpenCV treats both as growing.
constexpr bool area_enlarges(Interpolation interpolation, int64_t in_height, int64_t in_width, int64_t height,
                             int64_t width) {
  return interpolation == Interpolation::area && (width > in_width || height > in_height);
}

inline void check_resizable(int64_t in_height, int64_t in_width, int64_t height, int64_t width) {
  LOOMIX_CHECK(in_height > 0 && in_width > 0 && height > 0 && width > 0, ShapeError,
               "[resize] cannot resize {} x {} pixels to {} x {}; expected at least one.", in_width,
               in_height, width, height);
}

}  // namespace loomix::io
