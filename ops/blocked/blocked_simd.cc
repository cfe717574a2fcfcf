// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>

#include "ops/blocked/blocked_loops.h"
#include "ops/isa.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

struct Span {
  int64_t begin, end;
  int64_t counted;  // with what was added around the data
};

Span window(const BlockedWindows& axis, int64_t i) {
  const int64_t begin = i * axis.stride - axis.pad, end = begin + axis.kernel;
  const int64_t padded_end = axis.in + axis.pad;
  const int64_t last = end < padded_end ? end : padded_end;
  return {begin > 0 ? begin : 0, end < axis.in ? end : axis.in, last - begin};
}

// Joins all pixels of each window, and finishes the result.
template <int B, class Join, class Finish>
void pool(const BlockedWindows& rows, const BlockedWindows& columns, float start, const float* in, float* out,
          Join join, Finish finish) {
  for (int64_t h = 0; h < rows.out; ++h) {
    const Span y = window(rows, h);
    for (int64_t w = 0; w < columns.out; ++w, out += B) {
      const Span x = window(columns, w);
      float result[B];
      for (float& value : result) value = start;
      for (int64_t row = y.begin; row < y.end; ++row) {
        const float* pixel = in + (row * columns.in + x.begin) * B;
        for (int64_t column = x.begin; column < x.end; ++column, pixel += B) {
#pragma omp simd
          for (int i = 0; i < B; ++i) result[i] = join(result[i], pixel[i]);
        }
      }
      const float factor = finish(y, x);
#pragma omp simd
      for (int i = 0; i < B; ++i) out[i] = result[i] * factor;
    }
  }
}

template <int B>
void max_pool(const BlockedWindows& rows, const BlockedWindows& columns, const float* in, float* out) {
  pool<B>(
      rows, columns, -std::numeric_limits<float>::infinity(), in, out,
      [](float a, float b) { return (b > a) | (b != b) ? b : a; },  // NaN is the largest
      [](const Span&, const Span&) { return 1.0f; });
}

template <int B>
void average_pool(const BlockedWindows& rows, const BlockedWindows& columns, bool with_pad, const float* in,
                  float* out) {
  pool<B>(
      rows, columns, 0, in, out, [](float a, float b) { return a + b; },
      [&](const Span& y, const Span& x) {
        const int64_t count = with_pad ? y.counted * x.counted : (y.end - y.begin) * (x.end - x.begin);
        return 1.0f / static_cast<float>(count);
      });
}

template <int B, bool relu>
void scale(int64_t pixels, const float* factor, const float* shift, const float* in, float* out) {
  for (int64_t pixel = 0; pixel < pixels; ++pixel, in += B, out += B) {
#pragma omp simd
    for (int i = 0; i < B; ++i) {
      const float value = in[i] * factor[i] + shift[i];
      out[i] = relu && value < 0 ? 0 : value;
    }
  }
}

// So many pixels at a time that their lines stay in the first cache while the channels take turns.
constexpr int64_t kPixelsAtOnce = 64;

template <int B>
void to_pixels(int64_t channels, int64_t pixels, const float* in, float* out) {
  for (int64_t first = 0; first < pixels; first += kPixelsAtOnce) {
    const int64_t end = first + kPixelsAtOnce < pixels ? first + kPixelsAtOnce : pixels;
    for (int64_t channel = 0; channel < B; ++channel) {
      const float* const from = in + channel * pixels;
      if (channel < channels) {
        for (int64_t pixel = first; pixel < end; ++pixel) out[pixel * B + channel] = from[pixel];
      } else {
        for (int64_t pixel = first; pixel < end; ++pixel) out[pixel * B + channel] = 0;
      }
    }
  }
}

template <int B>
void to_channels(int64_t channels, int64_t pixels, const float* in, float* out) {
  for (int64_t first = 0; first < pixels; first += kPixelsAtOnce) {
    const int64_t end = first + kPixelsAtOnce < pixels ? first + kPixelsAtOnce : pixels;
    for (int64_t channel = 0; channel < channels; ++channel) {
      float* const to = out + channel * pixels;
      for (int64_t pixel = first; pixel < end; ++pixel) to[pixel] = in[pixel * B + channel];
    }
  }
}

// Blocks have 16 channels, or 8.
constexpr BlockedLoops kLoops = {
    [](int64_t block, const BlockedWindows& rows, const BlockedWindows& columns, const float* in,
       float* out) {
      block == 16 ? max_pool<16>(rows, columns, in, out) : max_pool<8>(rows, columns, in, out);
    },
    [](int64_t block, const BlockedWindows& rows, const BlockedWindows& columns, bool with_pad,
       const float* in, float* out) {
      block == 16 ? average_pool<16>(rows, columns, with_pad, in, out)
                  : average_pool<8>(rows, columns, with_pad, in, out);
    },
    [](int64_t block, int64_t pixels, const float* factor, const float* shift, bool relu, const float* in,
       float* out) {
      if (block == 16) (relu ? scale<16, true> : scale<16, false>)(pixels, factor, shift, in, out);
      else (relu ? scale<8, true> : scale<8, false>)(pixels, factor, shift, in, out);
    },
    [](int64_t block, int64_t channels, int64_t pixels, const float* in, float* out) {
      (block == 16 ? to_pixels<16> : to_pixels<8>)(channels, pixels, in, out);
    },
    [](int64_t block, int64_t channels, int64_t pixels, const float* in, float* out) {
      (block == 16 ? to_channels<16> : to_channels<8>)(channels, pixels, in, out);
    }};

}  // namespace

template <>
const BlockedLoops& compiled_loops<BlockedLoops>() {
  return kLoops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
