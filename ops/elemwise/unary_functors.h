// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/elemwise/functors.h"
#include "ops/elemwise/special.h"

// Functions of one argument; unary.h lists the operators made of them.
namespace loomix::ops::fn {

struct Abs {
  static constexpr auto f(auto m, Real auto x) { return m.abs(x); }
  static constexpr auto f(auto, Integer auto x) { return is_negative(x) ? decltype(x)(0 - wide(x)) : x; }
};
struct Arccos {
  static constexpr auto f(auto m, Real auto x) { return m.acos(x); }
};
struct Arccosh {
  static constexpr auto f(auto m, Real auto x) { return m.acosh(x); }
};
struct Arcsin {
  static constexpr auto f(auto m, Real auto x) { return m.asin(x); }
};
struct Arcsinh {
  static constexpr auto f(auto m, Real auto x) { return m.asinh(x); }
};
struct Arctan {
  static constexpr auto f(auto m, Real auto x) { return m.atan(x); }
};
struct Arctanh {
  static constexpr auto f(auto m, Real auto x) { return m.atanh(x); }
};
struct Cbrt {
  static constexpr auto f(auto m, Real auto x) { return m.cbrt(x); }
};
struct Ceil {
  static constexpr auto f(auto m, Real auto x) { return m.ceil(x); }
  static constexpr auto f(auto, Integer auto x) { return x; }
};
struct Cos {
  static constexpr auto f(auto m, Real auto x) { return m.cos(x); }
};
struct Cosh {
  static constexpr auto f(auto m, Real auto x) { return m.cosh(x); }
};
struct Degrees {
  static constexpr auto f(auto, Real auto x) { return x * decltype(x)(180 / special::kPi); }
};
struct Digamma {
  static constexpr auto f(auto m, Real auto x) { return decltype(x)(special::digamma<decltype(m)>(x)); }
};
struct Erf {
  static constexpr auto f(auto m, Real auto x) { return m.erf(x); }
};
struct Erfinv {
  static constexpr auto f(auto m, Real auto x) { return decltype(x)(special::erfinv<decltype(m)>(x)); }
};
struct Exp {
  static constexpr auto f(auto m, Real auto x) { return m.exp(x); }
};
struct Expm1 {
  static constexpr auto f(auto m, Real auto x) { return m.expm1(x); }
};
struct Floor {
  static constexpr auto f(auto m, Real auto x) { return m.floor(x); }
  static constexpr auto f(auto, Integer auto x) { return x; }
};
struct Gamma {
  static constexpr auto f(auto m, Real auto x) { return decltype(x)(m.tgamma(x)); }
};
struct Gammaln {
  static constexpr auto f(auto m, Real auto x) { return decltype(x)(m.lgamma(x)); }
};
struct Log {
  static constexpr auto f(auto m, Real auto x) { return m.log(x); }
};
struct Log10 {
  static constexpr auto f(auto m, Real auto x) { return m.log10(x); }
};
struct Log1p {
  static constexpr auto f(auto m, Real auto x) { return m.log1p(x); }
};
struct Log2 {
  static constexpr auto f(auto m, Real auto x) { return m.log2(x); }
};
struct LogicalNot {
  static constexpr auto f(auto, auto x) { return truth<decltype(x)>(x == 0); }
};
struct Negative {
  static constexpr auto f(auto, Real auto x) { return -x; }
  static constexpr auto f(auto, Integer auto x) { return decltype(x)(0 - wide(x)); }
};
struct NotNan {
  static constexpr auto f(auto, auto x) { return truth<decltype(x)>(x == x); }
};
struct Radians {
  static constexpr auto f(auto, Real auto x) { return x * decltype(x)(special::kPi / 180); }
};
struct Rcbrt {
  static constexpr auto f(auto m, Real auto x) { return 1 / m.cbrt(x); }
};
struct Reciprocal {
  static constexpr auto f(auto, Real auto x) { return 1 / x; }
};
// NaN stays NaN.
struct Relu {
  static constexpr auto f(auto, auto x) { return x <= 0 ? decltype(x)(0) : x; }
};
// Halves go down, as in MXNet.
struct Rint {
  static constexpr auto f(auto m, Real auto x) {
    const auto low = m.floor(x);
    return x - low <= decltype(x)(0.5) ? low : m.ceil(x);
  }
  static constexpr auto f(auto, Integer auto x) { return x; }
};
// Halves go away from zero.
struct Round {
  static constexpr auto f(auto m, Real auto x) {
    const auto whole = m.trunc(x);
    return m.abs(x - whole) >= decltype(x)(0.5) ? whole + m.copysign(decltype(x)(1), x) : whole;
  }
  static constexpr auto f(auto, Integer auto x) { return x; }
};
struct Rsqrt {
  static constexpr auto f(auto m, Real auto x) { return 1 / m.sqrt(x); }
};
struct Sigmoid {
  static constexpr auto f(auto m, Real auto x) { return 1 / (1 + m.exp(-x)); }
};
struct Sign {
  static constexpr auto f(auto, auto x) {
    const auto up = x > 0 ? decltype(x)(1) : x;
    return is_negative(x) ? decltype(x)(-1) : up;
  }
};
struct Sin {
  static constexpr auto f(auto m, Real auto x) { return m.sin(x); }
};
struct Sinh {
  static constexpr auto f(auto m, Real auto x) { return m.sinh(x); }
};
struct Softrelu {
  static constexpr auto f(auto m, Real auto x) {
    const auto positive = x > 0 ? x : 0;
    return positive + m.log1p(m.exp(-m.abs(x)));
  }
};
struct Softsign {
  static constexpr auto f(auto m, Real auto x) { return x / (1 + m.abs(x)); }
};
struct Sqrt {
  static constexpr auto f(auto m, Real auto x) { return m.sqrt(x); }
};
struct Square {
  static constexpr auto f(auto, Real auto x) { return x * x; }
  static constexpr auto f(auto, Integer auto x) { return decltype(x)(wide(x) * wide(x)); }
};
struct Tan {
  static constexpr auto f(auto m, Real auto x) { return m.tan(x); }
};
struct Tanh {
  static constexpr auto f(auto m, Real auto x) { return m.tanh(x); }
};
struct Trigamma {
  static constexpr auto f(auto m, Real auto x) { return decltype(x)(special::trigamma<decltype(m)>(x)); }
};
struct Trunc {
  static constexpr auto f(auto m, Real auto x) { return m.trunc(x); }
  static constexpr auto f(auto, Integer auto x) { return x; }
};

}  // namespace loomix::ops::fn
