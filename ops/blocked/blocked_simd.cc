// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>

#include "ops/blocked/blocked_loops.h"
#include "ops/blocked/channels_simd.h"
#include "ops/isa.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

// Joins all pixels of each window, and finishes the result.
template <class T, int B, class Join, class Finish>
void pool(const BlockedWindows& rows, const BlockedWindows& columns, float start, const T* in, T* out,
          Join join, Finish finish) {
  using Values = typename Channels<B>::Values;
  for (int64_t h = 0; h < rows.out; ++h) {
    const Span y = window(rows, h);
    for (int64_t w = 0; w < columns.out; ++w, out += B) {
      const Span x = window(columns, w);
      Values result = Values{} + start, value;
      for (int64_t row = y.begin; row < y.end; ++row) {
        const T* pixel = in + (row * columns.in + x.begin) * B;
        for (int64_t column = x.begin; column < x.end; ++column, pixel += B) {
          load<B>(pixel, value);
          join(result, value);
        }
      }
      result *= finish(y, x);
      store<B>(result, out);
    }
  }
}

template <class T, int B>
void max_pool(const BlockedWindows& rows, const BlockedWindows& columns, const T* in, T* out) {
  using Values = typename Channels<B>::Values;
  pool<T, B>(
      rows, columns, -std::numeric_limits<float>::infinity(), in, out,
      [](Values& most, const Values& x) { most = (x > most) | (x != x) ? x : most; },  // NaN is the largest
      [](const Span&, const Span&) { return 1.0f; });
}

template <class T, int B>
void average_pool(const BlockedWindows& rows, const BlockedWindows& columns, bool with_pad, const T* in,
                  T* out) {
  using Values = typename Channels<B>::Values;
  pool<T, B>(
      rows, columns, 0, in, out, [](Values& sum, const Values& x) { sum += x; },
      [&](const Span& y, const Span& x) {
        const int64_t count = with_pad ? y.counted * x.counted : (y.end - y.begin) * (x.end - x.begin);
        return 1.0f / static_cast<float>(count);
      });
}

template <class T, int B>
void scale(int64_t pixels, const float* factor, const float* shift, float low, float high, const T* in,
           T* out) {
  for (int64_t pixel = 0; pixel < pixels; ++pixel, in += B, out += B) {
#pragma omp simd
    for (int i = 0; i < B; ++i) {
      const float value = static_cast<float>(in[i]) * factor[i] + shift[i];
      const float above = value < low ? low : value;  // NaN stays
      out[i] = rounded<T>(above > high ? high : above);
    }
  }
}

// So many pixels at a time that their lines stay in the first cache while the channels take turns.
constexpr int64_t kPixelsAtOnce = 64;

template <class T, int B>
void to_pixels(int64_t channels, int64_t pixels, const T* in, T* out) {
  for (int64_t first = 0; first < pixels; first += kPixelsAtOnce) {
    const int64_t end = first + kPixelsAtOnce < pixels ? first + kPixelsAtOnce : pixels;
    for (int64_t channel = 0; channel < B; ++channel) {
      const T* const from = in + channel * pixels;
      if (channel < channels) {
        for (int64_t pixel = first; pixel < end; ++pixel) out[pixel * B + channel] = from[pixel];
      } else {
        for (int64_t pixel = first; pixel < end; ++pixel) out[pixel * B + channel] = T{};
      }
    }
  }
}

template <class T, int B>
void to_channels(int64_t channels, int64_t pixels, const T* in, T* out) {
  for (int64_t first = 0; first < pixels; first += kPixelsAtOnce) {
    const int64_t end = first + kPixelsAtOnce < pixels ? first + kPixelsAtOnce : pixels;
    for (int64_t channel = 0; channel < channels; ++channel) {
      T* const to = out + channel * pixels;
      for (int64_t pixel = first; pixel < end; ++pixel) to[pixel] = in[pixel * B + channel];
    }
  }
}

// Blocks have 16 channels, or 8.
template <class T>
constexpr BlockedLoopsOf<T> kLoopsOf = {
    [](int64_t block, const BlockedWindows& rows, const BlockedWindows& columns, const T* in, T* out) {
      block == 16 ? max_pool<T, 16>(rows, columns, in, out) : max_pool<T, 8>(rows, columns, in, out);
    },
    [](int64_t block, const BlockedWindows& rows, const BlockedWindows& columns, bool with_pad, const T* in,
       T* out) {
      block == 16 ? average_pool<T, 16>(rows, columns, with_pad, in, out)
                  : average_pool<T, 8>(rows, columns, with_pad, in, out);
    },
    [](int64_t block, int64_t pixels, const float* factor, const float* shift, float low, float high,
       const T* in,
       T* out) { (block == 16 ? scale<T, 16> : scale<T, 8>)(pixels, factor, shift, low, high, in, out); },
    [](int64_t block, int64_t channels, int64_t pixels, const T* in, T* out) {
      (block == 16 ? to_pixels<T, 16> : to_pixels<T, 8>)(channels, pixels, in, out);
    },
    [](int64_t block, int64_t channels, int64_t pixels, const T* in, T* out) {
      (block == 16 ? to_channels<T, 16> : to_channels<T, 8>)(channels, pixels, in, out);
    }};

constexpr BlockedLoops kLoops = {kLoopsOf<float>, kLoopsOf<bfloat16>};

}  // namespace

template <>
const BlockedLoops& compiled_loops<BlockedLoops>() {
  return kLoops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
