// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/elemwise/functors.h"
#include "ops/elemwise/special.h"

// Functions of one argument; unary.h lists the operators made of them.
namespace loomix::ops::fn {

struct Abs {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::abs(x);
  }
  template <class M, Integer T>
  static constexpr T f(T x) {
    return is_negative(x) ? T(Wrapping<T>(0) - Wrapping<T>(x)) : x;
  }
};
struct Arccos {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::acos(x);
  }
};
struct Arccosh {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::acosh(x);
  }
};
struct Arcsin {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::asin(x);
  }
};
struct Arcsinh {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::asinh(x);
  }
};
struct Arctan {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::atan(x);
  }
};
struct Arctanh {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::atanh(x);
  }
};
struct Cbrt {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::cbrt(x);
  }
};
struct Ceil {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::ceil(x);
  }
  template <class M, Integer T>
  static constexpr T f(T x) {
    return x;
  }
};
struct Cos {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::cos(x);
  }
};
struct Cosh {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::cosh(x);
  }
};
struct Degrees {
  template <class M, Real T>
  static constexpr T f(T x) {
    return x * T(180 / special::kPi);
  }
};
struct Digamma {
  template <class M, Real T>
  static constexpr T f(T x) {
    return T(special::digamma<M>(x));
  }
};
struct Erf {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::erf(x);
  }
};
struct Erfinv {
  template <class M, Real T>
  static constexpr T f(T x) {
    return T(special::erfinv<M>(x));
  }
};
struct Exp {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::exp(x);
  }
};
struct Expm1 {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::expm1(x);
  }
};
struct Floor {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::floor(x);
  }
  template <class M, Integer T>
  static constexpr T f(T x) {
    return x;
  }
};
struct Gamma {
  template <class M, Real T>
  static constexpr T f(T x) {
    return T(M::tgamma(x));
  }
};
struct Gammaln {
  template <class M, Real T>
  static constexpr T f(T x) {
    return T(M::lgamma(x));
  }
};
struct Log {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::log(x);
  }
};
struct Log10 {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::log10(x);
  }
};
struct Log1p {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::log1p(x);
  }
};
struct Log2 {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::log2(x);
  }
};
struct LogicalNot {
  template <class M, class T>
  static constexpr T f(T x) {
    return truth<T>(x == T(0));
  }
};
struct Negative {
  template <class M, Real T>
  static constexpr T f(T x) {
    return -x;
  }
  template <class M, Integer T>
  static constexpr T f(T x) {
    return T(Wrapping<T>(0) - Wrapping<T>(x));
  }
};
struct NotNan {
  template <class M, class T>
  static constexpr T f(T x) {
    return truth<T>(x == x);
  }
};
struct Radians {
  template <class M, Real T>
  static constexpr T f(T x) {
    return x * T(special::kPi / 180);
  }
};
struct Rcbrt {
  template <class M, Real T>
  static constexpr T f(T x) {
    return T(1) / M::cbrt(x);
  }
};
struct Reciprocal {
  template <class M, Real T>
  static constexpr T f(T x) {
    return T(1) / x;
  }
};
// NaN stays NaN.
struct Relu {
  template <class M, class T>
  static constexpr T f(T x) {
    return x <= T(0) ? T(0) : x;
  }
};
// Halves go down, as in MXNet.
struct Rint {
  template <class M, Real T>
  static constexpr T f(T x) {
    const T low = M::floor(x);
    return x - low <= T(0.5) ? low : M::ceil(x);
  }
  template <class M, Integer T>
  static constexpr T f(T x) {
    return x;
  }
};
// Halves go away from zero.
struct Round {
  template <class M, Real T>
  static constexpr T f(T x) {
    const T whole = M::trunc(x);
    return M::abs(x - whole) >= T(0.5) ? whole + M::copysign(T(1), x) : whole;
  }
  template <class M, Integer T>
  static constexpr T f(T x) {
    return x;
  }
};
struct Rsqrt {
  template <class M, Real T>
  static constexpr T f(T x) {
    return T(1) / M::sqrt(x);
  }
};
struct Sigmoid {
  template <class M, Real T>
  static constexpr T f(T x) {
    return T(1) / (T(1) + M::exp(-x));
  }
};
struct Sign {
  template <class M, class T>
  static constexpr T f(T x) {
    const T up = x > T(0) ? T(1) : x;
    return is_negative(x) ? T(-1) : up;
  }
};
struct Sin {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::sin(x);
  }
};
struct Sinh {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::sinh(x);
  }
};
struct Softrelu {
  template <class M, Real T>
  static constexpr T f(T x) {
    const T positive = x > T(0) ? x : T(0);
    return positive + M::log1p(M::exp(-M::abs(x)));
  }
};
struct Softsign {
  template <class M, Real T>
  static constexpr T f(T x) {
    return x / (T(1) + M::abs(x));
  }
};
struct Sqrt {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::sqrt(x);
  }
};
struct Square {
  template <class M, Real T>
  static constexpr T f(T x) {
    return x * x;
  }
  template <class M, Integer T>
  static constexpr T f(T x) {
    return T(Wrapping<T>(x) * Wrapping<T>(x));
  }
};
struct Tan {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::tan(x);
  }
};
struct Tanh {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::tanh(x);
  }
};
struct Trigamma {
  template <class M, Real T>
  static constexpr T f(T x) {
    return T(special::trigamma<M>(x));
  }
};
struct Trunc {
  template <class M, Real T>
  static constexpr T f(T x) {
    return M::trunc(x);
  }
  template <class M, Integer T>
  static constexpr T f(T x) {
    return x;
  }
};

}  // namespace loomix::ops::fn
