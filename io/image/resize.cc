// SPDX-License-Identifier: Apache-2.0
#include "io/image/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "base/error.h"
#include "io/image/row_loops.h"

// Separable: each source row is resized along x once, into floats, and kept while rows of the result need it.
namespace loomix::io {
namespace {

constexpr float kCubic = -0.75f;  // the free parameter of the bicubic kernel

void cubic_weights(float x, float* w) {
  const auto outer = [](float t) { return ((kCubic * t - 5 * kCubic) * t + 8 * kCubic) * t - 4 * kCubic; };
  const auto inner = [](float t) { return ((kCubic + 2) * t - (kCubic + 3)) * t * t + 1; };
  w[0] = outer(x + 1);
  w[1] = inner(x);
  w[2] = inner(1 - x);
  w[3] = 1 - w[0] - w[1] - w[2];
}

// sinc(t) sinc(t / 4) at the eight neighbours, scaled to the sum 1.
void lanczos_weights(float x, float* w) {
  if (x < 1e-7f) {
    std::fill_n(w, 8, 0.0f);
    w[3] = 1;
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

int tap_count(Interpolation interpolation, double scale) {
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
void area_taps(int i, double scale, int from, int count, int* at, float* weight) {
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

void taps_of(Interpolation interpolation, bool overlaps, int i, double scale, int from, int to, int count,
             int* at, float* weight) {
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

template <class T>
T to_pixel(float value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    const double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    return static_cast<T>(std::clamp<double>(std::nearbyint(value), low, high));
  }
}

template <class T, int kChannels>
void along_x(const T* in, const int* at, const float* weight, int count, int width, int channels,
             float* out) {
  const int c_end = kChannels > 0 ? kChannels : channels;
  for (int x = 0; x < width; ++x, at += count, weight += count, out += c_end) {
    for (int c = 0; c < c_end; ++c) {
      float sum = 0;
      for (int k = 0; k < count; ++k) sum += weight[k] * static_cast<float>(in[ptrdiff_t{at[k]} * c_end + c]);
      out[c] = sum;
    }
  }
}

}  // namespace

void Resizer::Taps::make(int from_size, int to_size, Interpolation interpolation, bool area_enlarges,
                         bool round_weights) {
  const std::array<int, 5> wanted = {from_size, to_size, static_cast<int>(interpolation), area_enlarges,
                                     round_weights};
  if (made_for == wanted) return;
  // As OpenCV computes it: the quotient itself may be one bit off, and a pixel that is not interpolated another one.
  const double scale = 1.0 / (static_cast<double>(to_size) / from_size);
  const bool overlaps = interpolation == Interpolation::area && !area_enlarges;
  count = interpolation == Interpolation::area && !overlaps ? 2 : tap_count(interpolation, scale);
  at.resize(size_t(to_size) * size_t(count));
  weight.resize(at.size());
  for (int i = 0; i < to_size; ++i) {
    const size_t k = size_t(i) * size_t(count);
    taps_of(interpolation, overlaps, i, scale, from_size, to_size, count, &at[k], &weight[k]);
  }
  // OpenCV computes these with weights of 11 bits.
  if (round_weights && !overlaps) {
    for (float& w : weight) w = std::nearbyint(w * 2048) / 2048;
  }
  made_for = wanted;
}

template <class T>
const float* Resizer::source_row(const T* row, int y, int channels, int width) {
  const int slot = y % rows_.count;
  float* const out = cache_.data() + size_t(slot) * size_t(width) * size_t(channels);
  if (cached_[size_t(slot)] == y) return out;
  cached_[size_t(slot)] = y;
  const auto along = channels == 3 ? along_x<T, 3> : channels == 1 ? along_x<T, 1> : along_x<T, 0>;
  along(row, columns_.at.data(), columns_.weight.data(), columns_.count, width, channels, out);
  return out;
}

template <class T>
void Resizer::run(const T* in, ptrdiff_t in_stride, int in_height, int in_width, int channels, T* out,
                  int height, int width, Interpolation interpolation) {
  LOOMIX_CHECK(in_height > 0 && in_width > 0 && height > 0 && width > 0, ShapeError,
               "[resize] cannot resize {} x {} pixels to {} x {}; expected at least one.", in_width,
               in_height, width, height);
  const bool rounded = std::is_same_v<T, uint8_t>;
  // Where one side grows, OpenCV treats both as growing.
  const bool enlarges = interpolation == Interpolation::area && (width > in_width || height > in_height);
  columns_.make(in_width, width, interpolation, enlarges, rounded);
  rows_.make(in_height, height, interpolation, enlarges, rounded);
  const size_t values = size_t(width) * size_t(channels);
  if (interpolation == Interpolation::nearest) {
    for (int y = 0; y < height; ++y) {
      const T* row = in + rows_.at[size_t(y)] * in_stride;
      T* to = out + size_t(y) * values;
      for (int x = 0; x < width; ++x, to += channels) {
        std::copy_n(row + ptrdiff_t{columns_.at[size_t(x)]} * channels, channels, to);
      }
    }
    return;
  }
  const int count = rows_.count;
  cache_.resize(values * size_t(count));
  cached_.assign(size_t(count), -1);
  window_.resize(size_t(count));
  weights_.resize(size_t(count));
  for (int y = 0; y < height; ++y) {
    const int* at = &rows_.at[size_t(y) * size_t(count)];
    const float* weight = &rows_.weight[size_t(y) * size_t(count)];
    int used = 0;
    for (int k = 0; k < count; ++k) {
      if (weight[k] == 0 && k > 0) continue;  // NOLINT: exact zeros are those that were put there
      window_[size_t(used)] = source_row(in + at[k] * in_stride, at[k], channels, width);
      weights_[size_t(used++)] = weight[k];
    }
    T* const to = out + size_t(y) * values;
    if constexpr (std::is_same_v<T, uint8_t>) {
      row_loops().blend(window_.data(), weights_.data(), used, static_cast<int64_t>(values), to);
    } else {
      for (size_t i = 0; i < values; ++i) {
        float sum = 0;
        for (int k = 0; k < used; ++k) sum += weights_[size_t(k)] * window_[size_t(k)][i];
        to[i] = to_pixel<T>(sum);
      }
    }
  }
}
template void Resizer::run<uint8_t>(const uint8_t*, ptrdiff_t, int, int, int, uint8_t*, int, int,
                                    Interpolation);
template void Resizer::run<float>(const float*, ptrdiff_t, int, int, int, float*, int, int, Interpolation);
template void Resizer::run<double>(const double*, ptrdiff_t, int, int, int, double*, int, int, Interpolation);
template void Resizer::run<int32_t>(const int32_t*, ptrdiff_t, int, int, int, int32_t*, int, int,
                                    Interpolation);

void Resizer::run(const ImageView& in, Image& out, Interpolation interpolation) {
  run<uint8_t>(in.data, in.stride, in.height, in.width, in.channels, out.data(), out.height(), out.width(),
               interpolation);
}

Image resize(const ImageView& in, int height, int width, Interpolation interpolation) {
  Image out(height, width, in.channels);
  Resizer().run(in, out, interpolation);
  return out;
}

Interpolation choose_interpolation(int number, int in_height, int in_width, int height, int width,
                                   uint32_t draw) {
  if (number == 9) {
    if (height > in_height && width > in_width) return Interpolation::bicubic;
    return height < in_height && width < in_width ? Interpolation::area : Interpolation::bilinear;
  }
  if (number == 10) return static_cast<Interpolation>(draw % 5);
  LOOMIX_CHECK(
      number >= 0 && number <= 4, ValueError,
      "[resize] interpolation {} is not known; expected 0 (nearest), 1 (bilinear), 2 (bicubic), 3 (area), "
      "4 (lanczos), 9 (by size) or 10 (random).",
      number);
  return static_cast<Interpolation>(number);
}

}  // namespace loomix::io
