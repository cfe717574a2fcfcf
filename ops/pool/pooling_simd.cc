// SPDX-License-Identifier: Apache-2.0
#include "ops/isa.h"
#include "ops/pool/pooling_kernels.h"

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors pass between functions of this file only

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

template <int L>
struct Types;
template <>
struct Types<4> {
  typedef float Vector __attribute__((vector_size(16)));
  typedef float Loose __attribute__((vector_size(16), aligned(4), may_alias));
  typedef int Mask __attribute__((vector_size(16)));
};
template <>
struct Types<8> {
  typedef float Vector __attribute__((vector_size(32)));
  typedef float Loose __attribute__((vector_size(32), aligned(4), may_alias));
  typedef int Mask __attribute__((vector_size(32)));
};

// Rows of images are short, so vectors of eight and four come before single windows.
template <int L>
struct Lanes {
  using Vector = typename Types<L>::Vector;
  using Loose = typename Types<L>::Loose;
  using Mask = typename Types<L>::Mask;

  static Vector load(const float* from) { return *reinterpret_cast<const Loose*>(from); }
  static void store(float* to, Vector value) { *reinterpret_cast<Loose*>(to) = value; }
  // Every second element of two vectors, from the first one or the second one on.
  static void split(const float* from, Vector& even, Vector& odd) {
    const Vector low = load(from), high = load(from + L);
    Mask evens, odds;
    for (int i = 0; i < L; ++i) {
      evens[i] = 2 * i;
      odds[i] = 2 * i + 1;
    }
    even = __builtin_shuffle(low, high, evens);
    odd = __builtin_shuffle(low, high, odds);
  }
  static void join(float* to, Vector even, Vector odd) {
    Mask low, high;
    for (int i = 0; i < L; ++i) {
      low[i] = i / 2 + i % 2 * L;
      high[i] = low[i] + L / 2;
    }
    store(to, __builtin_shuffle(even, odd, low));
    store(to + L, __builtin_shuffle(even, odd, high));
  }
};

template <>
struct Lanes<1> {
  using Vector = float;
  static float load(const float* from) { return *from; }
  static void store(float* to, float value) { *to = value; }
  static void split(const float* from, float& even, float& odd) {
    even = from[0];
    odd = from[1];
  }
  static void join(float* to, float even, float odd) {
    to[0] = even;
    to[1] = odd;
  }
};

// NaN wins, as it would in a chain of comparisons that ask for "not smaller".
template <class V>
inline V larger(V a, V b) {
  return (b > a) | (b != b) ? b : a;
}

template <int L>
inline void max_windows(const float* top, const float* bottom, float* out) {
  typename Lanes<L>::Vector a, b, c, d;
  Lanes<L>::split(top, a, b);
  Lanes<L>::split(bottom, c, d);
  Lanes<L>::store(out, larger(larger(a, b), larger(c, d)));
}

template <int L>
inline void max_windows_backward(const float* top, const float* bottom, const float* grad, float* top_out,
                                 float* bottom_out) {
  using V = typename Lanes<L>::Vector;
  V a, b, c, d;
  Lanes<L>::split(top, a, b);
  Lanes<L>::split(bottom, c, d);
  const V g = Lanes<L>::load(grad);
  const V zero = {};
  const V above = larger(a, b), below = larger(c, d);
  const V upper = below > above ? zero : g;
  const V lower = below > above ? g : zero;
  Lanes<L>::join(top_out, b > a ? zero : upper, b > a ? upper : zero);
  Lanes<L>::join(bottom_out, d > c ? zero : lower, d > c ? lower : zero);
}

void max2(int64_t out_height, int64_t out_width, int64_t width, const float* data, float* out) {
  for (int64_t h = 0; h < out_height; ++h, data += 2 * width, out += out_width) {
    const float* bottom = data + width;
    int64_t w = 0;
    for (; w + 8 <= out_width; w += 8) max_windows<8>(data + 2 * w, bottom + 2 * w, out + w);
    for (; w + 4 <= out_width; w += 4) max_windows<4>(data + 2 * w, bottom + 2 * w, out + w);
    for (; w < out_width; ++w) max_windows<1>(data + 2 * w, bottom + 2 * w, out + w);
  }
}

void max2_backward(int64_t out_height, int64_t out_width, int64_t width, const float* grad, const float* data,
                   float* out) {
  for (int64_t h = 0; h < out_height; ++h, data += 2 * width, out += 2 * width, grad += out_width) {
    const float* bottom = data + width;
    float* bottom_out = out + width;
    int64_t w = 0;
    const auto step = [&]<int L>(Lanes<L>) {
      for (; w + L <= out_width; w += L) {
        max_windows_backward<L>(data + 2 * w, bottom + 2 * w, grad + w, out + 2 * w, bottom_out + 2 * w);
      }
    };
    step(Lanes<8>{});
    step(Lanes<4>{});
    step(Lanes<1>{});
  }
}

}  // namespace

template <>
const PoolKernels& compiled_loops() {
  static constexpr PoolKernels kernels = {max2, max2_backward};
  return kernels;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
