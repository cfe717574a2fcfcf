// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "ops/blocked/channels_simd.h"
#include "ops/blocked/lrn_loops.h"
#include "ops/isa.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

// Calls fn(where in the image, channel, pixel) for each block of each pixel, in the order of the image's memory.
template <int B, class Fn>
void each(const LrnRows& shape, Fn&& fn) {
  for (int64_t block = 0; block < shape.blocks; ++block) {
    const int64_t first = block * shape.pixels * B;
    for (int64_t pixel = 0; pixel < shape.count; ++pixel) fn(first + pixel * B, block * B, pixel);
  }
}

template <class T, int B>
void squares(const LrnRows& shape, const T* in, float* rows) {
  each<B>(shape, [&](int64_t at, int64_t channel, int64_t pixel) {
    typename Channels<B>::Values x;
    load<B>(in + at, x);
    store<B>(x * x, rows + pixel * shape.length() + B + channel);
  });
}

// The sums of the windows around a block of channels.
template <int B>
void add_around(const LrnRows& shape, const float* channels, typename Channels<B>::Values& sum) {
  load<B>(channels - shape.reach, sum);
  for (int64_t i = 1 - shape.reach; i <= shape.reach; ++i) {
    typename Channels<B>::Values x;
    load<B>(channels + i, x);
    sum += x;
  }
}

template <int B>
void windows(const LrnRows& shape, float constant, float factor, const float* rows, float* out) {
  for (int64_t pixel = 0; pixel < shape.count; ++pixel, rows += shape.length()) {
    for (int64_t channel = 0; channel < shape.channels(); channel += B, out += B) {
      typename Channels<B>::Values sum;
      add_around<B>(shape, rows + B + channel, sum);
      store<B>(constant + factor * sum, out);
    }
  }
}

template <class T, int B>
void scale(const LrnRows& shape, const float* power, const T* in, T* out) {
  each<B>(shape, [&](int64_t at, int64_t channel, int64_t pixel) {
    typename Channels<B>::Values x, y;
    load<B>(in + at, x);
    load<B>(power + pixel * shape.channels() + channel, y);
    store<B>(x * y, out + at);
  });
}

template <class T, int B>
void terms(const LrnRows& shape, const float* denominators, const T* grad, const T* in, float* power,
           float* rows) {
  each<B>(shape, [&](int64_t at, int64_t channel, int64_t pixel) {
    const int64_t place = pixel * shape.channels() + channel;
    typename Channels<B>::Values x, g, d, y;
    load<B>(in + at, x);
    load<B>(grad + at, g);
    load<B>(denominators + place, d);
    load<B>(power + place, y);
    y *= g;
    store<B>(y, power + place);
    store<B>(y * x / d, rows + pixel * shape.length() + B + channel);
  });
}

template <class T, int B>
void gradient(const LrnRows& shape, float factor, const float* direct, const float* rows, const T* in,
              T* out) {
  each<B>(shape, [&](int64_t at, int64_t channel, int64_t pixel) {
    typename Channels<B>::Values x, own, sum;
    load<B>(in + at, x);
    load<B>(direct + pixel * shape.channels() + channel, own);
    add_around<B>(shape, rows + pixel * shape.length() + B + channel, sum);
    store<B>(own - factor * x * sum, out + at);
  });
}

// Blocks have 16 channels, or 8.
template <class T>
constexpr LrnLoopsOf<T> kLoopsOf = {[](const LrnRows& shape, const T* in, float* rows) {
                                      (shape.block == 16 ? squares<T, 16> : squares<T, 8>)(shape, in, rows);
                                    },
                                    [](const LrnRows& shape, const float* power, const T* in, T* out) {
                                      (shape.block == 16 ? scale<T, 16> : scale<T, 8>)(shape, power, in, out);
                                    }};

constexpr LrnLoops kLoops = {
    [](const LrnRows& shape, float constant, float factor, const float* rows, float* out) {
      (shape.block == 16 ? windows<16> : windows<8>)(shape, constant, factor, rows, out);
    },
    kLoopsOf<float>, kLoopsOf<bfloat16>};

template <class T>
constexpr LrnGradientLoopsOf<T> kGradientLoopsOf = {
    [](const LrnRows& shape, const float* denominators, const T* grad, const T* in, float* power,
       float* rows) {
      (shape.block == 16 ? terms<T, 16> : terms<T, 8>)(shape, denominators, grad, in, power, rows);
    },
    [](const LrnRows& shape, float factor, const float* direct, const float* rows, const T* in, T* out) {
      (shape.block == 16 ? gradient<T, 16> : gradient<T, 8>)(shape, factor, direct, rows, in, out);
    }};

constexpr LrnGradientLoops kGradientLoops = {kGradientLoopsOf<float>, kGradientLoopsOf<bfloat16>};

}  // namespace

template <>
const LrnLoops& compiled_loops<LrnLoops>() {
  return kLoops;
}

template <>
const LrnGradientLoops& compiled_loops<LrnGradientLoops>() {
  return kGradientLoops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
