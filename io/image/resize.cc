// SPDX-License-Identifier: Apache-2.0
#include "io/image/resize.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "io/image/resize_taps.h"
#include "io/image/row_loops.h"

// Separable: each source row is resized along x once, into floats, and kept while rows of the result need it.
namespace loomix::io {
namespace {

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
  const AxisTaps taps(from_size, to_size, interpolation, area_enlarges, round_weights);
  count = taps.count;
  at.resize(size_t(to_size) * size_t(count));
  weight.resize(at.size());
  for (int i = 0; i < to_size; ++i)
    taps.make(i, &at[size_t(i) * size_t(count)], &weight[size_t(i) * size_t(count)]);
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
  check_resizable(in_height, in_width, height, width);
  const bool rounded = std::is_same_v<T, uint8_t>;
  const bool enlarges = area_enlarges(interpolation, in_height, in_width, height, width);
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
