// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>

#include "ops/blocked/channels_simd.h"
#include "ops/blocked/training_loops.h"
#include "ops/isa.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kSums = 4;  // of each channel, added in turn, so that one need not wait for the other

// Calls add(sum number, pixel) for all pixels, with as many sums as there can be at once.
template <class Add>
void in_turn(int64_t pixels, Add&& add) {
  int64_t pixel = 0;
  for (; pixel + kSums <= pixels; pixel += kSums) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kSums; ++i) add(i, pixel + i);
  }
  for (; pixel < pixels; ++pixel) add(0, pixel);
}

template <class T, int B>
void sum(int64_t pixels, const T* in, float* sums) {
  using Values = typename Channels<B>::Values;
  Values total[kSums] = {};
  in_turn(pixels, [&](int64_t i, int64_t pixel) {
    Values x;
    load<B>(in + pixel * B, x);
    total[i] += x;
  });
  store<B>((total[0] + total[1]) + (total[2] + total[3]), sums);
}

template <class T, int B>
void moments(int64_t pixels, const T* in, float* mean, float* squares) {
  using Values = typename Channels<B>::Values;
  sum<T, B>(pixels, in, mean);
  Values middle, total[kSums] = {};
  load<B>(mean, middle);
  middle *= 1.0f / static_cast<float>(pixels);
  in_turn(pixels, [&](int64_t i, int64_t pixel) {
    Values x;
    load<B>(in + pixel * B, x);
    const Values distance = x - middle;
    total[i] += distance * distance;
  });
  store<B>(middle, mean);
  store<B>((total[0] + total[1]) + (total[2] + total[3]), squares);
}

template <class T, int B>
void scale_add(int64_t pixels, const float* scale, const float* shift, bool relu, const T* in, const T* added,
               T* out) {
  using Values = typename Channels<B>::Values;
  Values factor, constant;
  load<B>(scale, factor);
  load<B>(shift, constant);
  const Values low = Values{} + (relu ? 0.0f : -std::numeric_limits<float>::infinity());
  for (int64_t at = 0; at < pixels * B; at += B) {
    Values x, more;
    load<B>(in + at, x);
    load<B>(added + at, more);
    const Values y = x * factor + constant + more;
    store<B>(y < low ? low : y, out + at);  // NaN stays
  }
}

// The gradient of a pixel, if it is let through.
template <class T, int B, bool relu>
void load_grad(const T* grad, const typename Channels<B>::Values& x,
               const typename Channels<B>::Values& scale, const typename Channels<B>::Values& shift,
               typename Channels<B>::Values& g) {
  load<B>(grad, g);
  if constexpr (relu) g = x * scale + shift > 0.0f ? g : typename Channels<B>::Values{};
}

template <class T, int B, bool relu>
void norm_sums(int64_t pixels, const BlockedNormGradient& of, const T* grad, const T* in, float* sums,
               float* products) {
  using Values = typename Channels<B>::Values;
  Values mean, scale, shift{}, sum[kSums] = {}, product[kSums] = {};
  load<B>(of.mean, mean);
  load<B>(of.scale, scale);
  if constexpr (relu) load<B>(of.shift, shift);
  in_turn(pixels, [&](int64_t i, int64_t pixel) {
    Values x, g;
    load<B>(in + pixel * B, x);
    load_grad<T, B, relu>(grad + pixel * B, x, scale, shift, g);
    sum[i] += g;
    product[i] += g * (x - mean);
  });
  store<B>((sum[0] + sum[1]) + (sum[2] + sum[3]), sums);
  store<B>((product[0] + product[1]) + (product[2] + product[3]), products);
}

template <class T, int B, bool relu>
void norm_gradient(int64_t pixels, const BlockedNormGradient& of, const T* grad, const T* in, T* out) {
  using Values = typename Channels<B>::Values;
  Values mean, scale, shift{}, constant, slope;
  load<B>(of.mean, mean);
  load<B>(of.scale, scale);
  if constexpr (relu) load<B>(of.shift, shift);
  load<B>(of.constant, constant);
  load<B>(of.slope, slope);
  for (int64_t at = 0; at < pixels * B; at += B) {
    Values x, g;
    load<B>(in + at, x);
    load_grad<T, B, relu>(grad + at, x, scale, shift, g);
    store<B>(scale * (g - constant - (x - mean) * slope), out + at);
  }
}

template <class T, int B>
void max_pool(const BlockedWindows& rows, const BlockedWindows& columns, const T* in, T* out,
              uint8_t* places) {
  using Values = typename Channels<B>::Values;
  using Words = typename Channels<B>::Words;
  for (int64_t h = 0; h < rows.out; ++h) {
    const Span y = window(rows, h);
    for (int64_t w = 0; w < columns.out; ++w, out += B, places += B) {
      const Span x = window(columns, w);
      Values most = Values{} - std::numeric_limits<float>::infinity(), value;
      Words place = Words{} + 255u;
      for (int64_t row = y.begin; row < y.end; ++row) {
        const int64_t first =
            (row - h * rows.stride + rows.pad) * columns.kernel - w * columns.stride + columns.pad;
        for (int64_t column = x.begin; column < x.end; ++column) {
          load<B>(in + (row * columns.in + column) * B, value);
          const auto is_more = (value > most) | (value != value);  // NaN is the largest
          most = is_more ? value : most;
          place = is_more ? Words{} + static_cast<uint32_t>(first + column) : place;
        }
      }
      store<B>(most, out);
      for (int i = 0; i < B; ++i) places[i] = static_cast<uint8_t>(place[i]);
    }
  }
}

// The windows that a place of the data is in: from `first` on, before `end`. For one place after the other.
struct Covering {
  const BlockedWindows& axis;
  int64_t first = 0, end = 0;
  void move_to(int64_t place) {
    while (first < axis.out && first * axis.stride - axis.pad + axis.kernel <= place) ++first;
    while (end < axis.out && end * axis.stride - axis.pad <= place) ++end;
  }
};

// Calls take(window's row, its column, place's row in the window, its column, sum) for each window of each place.
template <class T, int B, class Take>
void gather(const BlockedWindows& rows, const BlockedWindows& columns, T* out, Take&& take) {
  Covering above{rows};
  for (int64_t row = 0; row < rows.in; ++row) {
    above.move_to(row);
    Covering beside{columns};
    for (int64_t column = 0; column < columns.in; ++column, out += B) {
      beside.move_to(column);
      typename Channels<B>::Values sum{};
      for (int64_t h = above.first; h < above.end; ++h) {
        for (int64_t w = beside.first; w < beside.end; ++w)
          take(h, w, row - h * rows.stride + rows.pad, column - w * columns.stride + columns.pad, sum);
      }
      store<B>(sum, out);
    }
  }
}

template <class T, int B>
void max_gradient(const BlockedWindows& rows, const BlockedWindows& columns, const T* grad,
                  const uint8_t* places, T* out) {
  using Values = typename Channels<B>::Values;
  using Words = typename Channels<B>::Words;
  typedef uint8_t Bytes __attribute__((vector_size(B)));
  gather<T, B>(rows, columns, out, [&](int64_t h, int64_t w, int64_t y, int64_t x, Values& sum) {
    const int64_t at = (h * columns.out + w) * B;
    Values g;
    load<B>(grad + at, g);
    Bytes place;
    std::memcpy(&place, places + at, sizeof place);
    const Words wide = __builtin_convertvector(place, Words);
    sum += wide == Words{} + static_cast<uint32_t>(y * columns.kernel + x) ? g : Values{};
  });
}

template <class T, int B>
void average_gradient(const BlockedWindows& rows, const BlockedWindows& columns, bool with_pad, const T* grad,
                      T* out) {
  using Values = typename Channels<B>::Values;
  gather<T, B>(rows, columns, out, [&](int64_t h, int64_t w, int64_t, int64_t, Values& sum) {
    const Span y = window(rows, h), x = window(columns, w);
    const int64_t count = with_pad ? y.counted * x.counted : (y.end - y.begin) * (x.end - x.begin);
    Values g;
    load<B>(grad + (h * columns.out + w) * B, g);
    sum += g * (1.0f / static_cast<float>(count));
  });
}

// Blocks have 16 channels, or 8.
template <class T>
constexpr BlockedTrainingLoopsOf<T> kLoopsOf = {
    [](int64_t block, int64_t pixels, const T* in, float* mean, float* squares) {
      (block == 16 ? moments<T, 16> : moments<T, 8>)(pixels, in, mean, squares);
    },
    [](int64_t block, int64_t pixels, const T* in, float* sums) {
      (block == 16 ? sum<T, 16> : sum<T, 8>)(pixels, in, sums);
    },
    [](int64_t block, int64_t pixels, const float* scale, const float* shift, bool relu, const T* in,
       const T* added, T* out) {
      (block == 16 ? scale_add<T, 16> : scale_add<T, 8>)(pixels, scale, shift, relu, in, added, out);
    },
    [](int64_t block, int64_t pixels, const BlockedNormGradient& of, const T* grad, const T* in, float* sums,
       float* products) {
      if (of.shift)
        (block == 16 ? norm_sums<T, 16, true> : norm_sums<T, 8, true>)(pixels, of, grad, in, sums, products);
      else
        (block == 16 ? norm_sums<T, 16, false> : norm_sums<T, 8, false>)(pixels, of, grad, in, sums,
                                                                         products);
    },
    [](int64_t block, int64_t pixels, const BlockedNormGradient& of, const T* grad, const T* in, T* out) {
      if (of.shift)
        (block == 16 ? norm_gradient<T, 16, true> : norm_gradient<T, 8, true>)(pixels, of, grad, in, out);
      else
        (block == 16 ? norm_gradient<T, 16, false> : norm_gradient<T, 8, false>)(pixels, of, grad, in, out);
    },
    [](int64_t block, const BlockedWindows& rows, const BlockedWindows& columns, const T* in, T* out,
       uint8_t* places) { (block == 16 ? max_pool<T, 16> : max_pool<T, 8>)(rows, columns, in, out, places); },
    [](int64_t block, const BlockedWindows& rows, const BlockedWindows& columns, const T* grad,
       const uint8_t* places, T* out) {
      (block == 16 ? max_gradient<T, 16> : max_gradient<T, 8>)(rows, columns, grad, places, out);
    },
    [](int64_t block, const BlockedWindows& rows, const BlockedWindows& columns, bool with_pad, const T* grad,
       T* out) {
      (block == 16 ? average_gradient<T, 16> : average_gradient<T, 8>)(rows, columns, with_pad, grad, out);
    }};

constexpr BlockedTrainingLoops kLoops = {kLoopsOf<float>, kLoopsOf<bfloat16>};

}  // namespace

template <>
const BlockedTrainingLoops& compiled_loops<BlockedTrainingLoops>() {
  return kLoops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
