// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace loomix::ops::special {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;
constexpr double kAsymptotic = 10;  // from here on the series below are exact to double precision

bool is_pole(double x) { return x <= 0 && std::floor(x) == x; }

}  // namespace

double erfinv(double x) {
  if (!(std::abs(x) < 1))
    return std::abs(x) == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x) : kNaN;
  // Winitzki's approximation is good to 2e-3; three of Halley's steps square it out.
  const double log_term = std::log1p(-x * x);
  const double half = 2 / (kPi * 0.147) + log_term / 2;
  double y = std::copysign(std::sqrt(std::sqrt(half * half - log_term / 0.147) - half), x);
  for (int step = 0; step < 3; ++step) {
    // erfc keeps its relative precision where erf is close to one.
    const double error = y > 0 ? (1 - x) - std::erfc(y) : std::erfc(-y) - (1 + x);
    const double slope = 2 / std::sqrt(kPi) * std::exp(-y * y);
    const double newton = error / slope;
    y -= newton / (1 + y * newton);
  }
  return y;
}

double gamma(double x) { return is_pole(x) ? kNaN : std::tgamma(x); }

double gammaln(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

double digamma(double x) {
  if (is_pole(x)) return kNaN;
  if (x < 0) return digamma(1 - x) - kPi / std::tan(kPi * x);
  double shifted = 0;
  for (; x < kAsymptotic; x += 1) shifted -= 1 / x;
  const double square = 1 / (x * x);
  const double series =
      square *
      (1. / 12 -
       square * (1. / 120 -
                 square * (1. / 252 - square * (1. / 240 - square * (1. / 132 - square * (691. / 32760 -
                                                                                          square / 12))))));
  return shifted + std::log(x) - 0.5 / x - series;
}

double trigamma(double x) {
  if (is_pole(x)) return std::numeric_limits<double>::infinity();
  if (x < 0) {
    const double sine = std::sin(kPi * x);
    return kPi * kPi / (sine * sine) - trigamma(1 - x);
  }
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

}  // namespace loomix::ops::special
