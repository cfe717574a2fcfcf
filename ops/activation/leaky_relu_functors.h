// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/elemwise/functors.h"

// The functions of LeakyReLU with their first two derivatives; leaky_relus.h lists them. `slope` is that of negative values,
// or their scale. M is as for elementwise functors. NaN stays NaN where exponentials are only wanted of negative values.
namespace loomix::ops::fn {

struct Leaky {
  template <class M, Real T>
  static constexpr T f(T x, T slope) {
    return x > T(0) ? x : slope * x;
  }
  template <class M, Real T>
  static constexpr T derivative(T x, T slope) {
    return x > T(0) ? T(1) : slope;
  }
  template <class M, Real T>
  static constexpr T second_derivative(T, T) {
    return T(0);
  }
};

struct Elu {
  template <class M, Real T>
  static constexpr T f(T x, T slope) {
    const T negative = slope * M::expm1(x > T(0) ? T(0) : x);
    return x > T(0) ? x : negative;
  }
  template <class M, Real T>
  static constexpr T derivative(T x, T slope) {
    const T negative = slope * M::exp(x > T(0) ? T(0) : x);
    return x > T(0) ? T(1) : negative;
  }
  template <class M, Real T>
  static constexpr T second_derivative(T x, T slope) {
    const T negative = slope * M::exp(x > T(0) ? T(0) : x);
    return x > T(0) ? T(0) : negative;
  }
};

struct Selu {
  static constexpr double kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;

  template <class M, Real T>
  static constexpr T f(T x, T) {
    const T negative = T(kAlpha) * M::expm1(x > T(0) ? T(0) : x);
    return T(kScale) * (x > T(0) ? x : negative);
  }
  // As MXNet has it: the scale stands twice in the exponential's part.
  template <class M, Real T>
  static constexpr T derivative(T x, T) {
    const T negative = T(kAlpha) * (T(kScale) * M::expm1(x > T(0) ? T(0) : x) + T(1));
    return T(kScale) * (x > T(0) ? T(1) : negative);
  }
  template <class M, Real T>
  static constexpr T second_derivative(T x, T) {
    const T negative = T(kScale) * T(kScale) * T(kAlpha) * M::exp(x > T(0) ? T(0) : x);
    return x > T(0) ? T(0) : negative;
  }
};

struct Gelu {
  static constexpr double kSqrtHalf = 0.70710678118654752440, kInvSqrtTwoPi = 0.39894228040143267794;

  template <class M, Real T>
  static constexpr T f(T x, T) {
    return T(0.5) * x * (T(1) + M::erf(x * T(kSqrtHalf)));
  }
  template <class M, Real T>
  static constexpr T derivative(T x, T) {
    const T density = T(kInvSqrtTwoPi) * M::exp(T(-0.5) * x * x);
    return T(0.5) * (T(1) + M::erf(x * T(kSqrtHalf))) + x * density;
  }
  template <class M, Real T>
  static constexpr T second_derivative(T x, T) {
    return T(kInvSqrtTwoPi) * M::exp(T(-0.5) * x * x) * (T(2) - x * x);
  }
};

}  // namespace loomix::ops::fn
