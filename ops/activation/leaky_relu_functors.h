// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/elemwise/functors.h"

// The functions of LeakyReLU with their first two derivatives; leaky_relus.h lists them. `slope` is that of negative values,
// or their scale. `m` is as for elementwise functors. NaN stays NaN where exponentials are only wanted of negative values.
namespace loomix::ops::fn {

struct Leaky {
  static constexpr auto f(auto, Real auto x, Real auto slope) { return x > 0 ? x : slope * x; }
  static constexpr auto derivative(auto, Real auto x, Real auto slope) { return x > 0 ? 1 : slope; }
  static constexpr auto second_derivative(auto, Real auto x, Real auto) { return decltype(x)(0); }
};

struct Elu {
  template <Real T>
  static constexpr T f(auto m, T x, T slope) {
    const T negative = slope * m.expm1(x > T(0) ? T(0) : x);
    return x > T(0) ? x : negative;
  }
  template <Real T>
  static constexpr T derivative(auto m, T x, T slope) {
    const T negative = slope * m.exp(x > T(0) ? T(0) : x);
    return x > T(0) ? T(1) : negative;
  }
  template <Real T>
  static constexpr T second_derivative(auto m, T x, T slope) {
    const T negative = slope * m.exp(x > T(0) ? T(0) : x);
    return x > T(0) ? T(0) : negative;
  }
};

struct Selu {
  static constexpr double kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;

  template <Real T>
  static constexpr T f(auto m, T x, T) {
    const T negative = T(kAlpha) * m.expm1(x > T(0) ? T(0) : x);
    return T(kScale) * (x > T(0) ? x : negative);
  }
  // As MXNet has it: the scale stands twice in the exponential's part.
  template <Real T>
  static constexpr T derivative(auto m, T x, T) {
    const T negative = T(kAlpha) * (T(kScale) * m.expm1(x > T(0) ? T(0) : x) + T(1));
    return T(kScale) * (x > T(0) ? T(1) : negative);
  }
  template <Real T>
  static constexpr T second_derivative(auto m, T x, T) {
    const T negative = T(kScale) * T(kScale) * T(kAlpha) * m.exp(x > T(0) ? T(0) : x);
    return x > T(0) ? T(0) : negative;
  }
};

struct Gelu {
  static constexpr double kSqrtHalf = 0.70710678118654752440, kInvSqrtTwoPi = 0.39894228040143267794;

  template <Real T>
  static constexpr T f(auto m, T x, T) {
    return T(0.5) * x * (T(1) + m.erf(x * T(kSqrtHalf)));
  }
  template <Real T>
  static constexpr T derivative(auto m, T x, T) {
    const T density = T(kInvSqrtTwoPi) * m.exp(T(-0.5) * x * x);
    return T(0.5) * (T(1) + m.erf(x * T(kSqrtHalf))) + x * density;
  }
  template <Real T>
  static constexpr T second_derivative(auto m, T x, T) {
    return T(kInvSqrtTwoPi) * m.exp(T(-0.5) * x * x) * (T(2) - x * x);
  }
};

}  // namespace loomix::ops::fn
