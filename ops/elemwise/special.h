// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

// Special functions that the C++ library lacks, by the functions of the target M (see functors.h). Relative error below
// 1e-14 away from their zeros.
namespace loomix::ops::special {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kSqrtPi = 1.77245385090551602730;
inline constexpr double kAsymptotic = 10;  // from here on the series below are exact to double precision

template <class M>
constexpr bool is_pole(double x) {
  return x <= 0 && M::floor(x) == x;
}

// NaN outside [-1, 1].
template <class M>
constexpr double erfinv(double x) {
  if (!(M::abs(x) < 1)) return M::abs(x) == 1 ? M::copysign(kInfinity, x) : kNaN;
  // Winitzki's approximation is good to 2e-3; three of Halley's steps square it out.
  const double log_term = M::log1p(-x * x);
  const double half = 2 / (kPi * 0.147) + log_term / 2;
  double y = M::copysign(M::sqrt(M::sqrt(half * half - log_term / 0.147) - half), x);
  for (int step = 0; step < 3; ++step) {
    // erfc keeps its relative precision where erf is close to one.
    const double error = y > 0 ? (1 - x) - M::erfc(y) : M::erfc(-y) - (1 + x);
    const double slope = 2 / kSqrtPi * M::exp(-y * y);
    const double newton = error / slope;
    y -= newton / (1 + y * newton);
  }
  return y;
}

template <class M>
constexpr double digamma_right(double x) {  // of x >= 0
  double shifted = 0;
  for (; x < kAsymptotic; x += 1) shifted -= 1 / x;
  const double square = 1 / (x * x);
  const double series =
      square *
      (1. / 12 -
       square * (1. / 120 -
                 square * (1. / 252 - square * (1. / 240 - square * (1. / 132 - square * (691. / 32760 -
                                                                                          square / 12))))));
  return shifted + M::log(x) - 0.5 / x - series;
}

template <class M>
constexpr double digamma(double x) {
  if (is_pole<M>(x)) return kNaN;
  return x < 0 ? digamma_right<M>(1 - x) - kPi / M::tan(kPi * x) : digamma_right<M>(x);
}

template <class M>
constexpr double trigamma_right(double x) {  // of x >= 0
  double shifted = 0;
  for (; x < kAsymptotic; x += 1) shifted += 1 / (x * x);
  const double square = 1 / (x * x);
  const double series =
      square *
      (1. / 6 -
       square * (1. / 30 -
                 square * (1. / 42 - square * (1. / 30 - square * (5. / 66 - square * (691. / 2730 -
                                                                                       square * 7 / 6))))));
  return shifted + 1 / x + square / 2 + series / x;
}

template <class M>
constexpr double trigamma(double x) {
  if (is_pole<M>(x)) return kInfinity;
  if (!(x < 0)) return trigamma_right<M>(x);
  const double sine = M::sin(kPi * x);
  return kPi * kPi / (sine * sine) - trigamma_right<M>(1 - x);
}

}  // namespace loomix::ops::special
