// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/loops.h"
#include "ops/elemwise/special.h"
#include "ops/simd_math.h"

// The functors are written without branches around calls, so that g++ vectorises the loops.
namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

template <class F, class T>
void loop(const void* from, void* to, int64_t count) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = F::f(x[i]);
}

constexpr double kPi = 3.14159265358979323846;

struct Abs {
  template <class T>
  static T f(T x) {
    return m::abs(x);
  }
};
struct Arccos {
  template <class T>
  static T f(T x) {
    return m::acos(x);
  }
};
struct Arccosh {
  template <class T>
  static T f(T x) {
    return m::acosh(x);
  }
};
struct Arcsin {
  template <class T>
  static T f(T x) {
    return m::asin(x);
  }
};
struct Arcsinh {
  template <class T>
  static T f(T x) {
    return m::asinh(x);
  }
};
struct Arctan {
  template <class T>
  static T f(T x) {
    return m::atan(x);
  }
};
struct Arctanh {
  template <class T>
  static T f(T x) {
    return m::atanh(x);
  }
};
struct Cbrt {
  template <class T>
  static T f(T x) {
    return m::cbrt(x);
  }
};
struct Ceil {
  template <class T>
  static T f(T x) {
    return m::ceil(x);
  }
};
struct Cos {
  template <class T>
  static T f(T x) {
    return m::cos(x);
  }
};
struct Cosh {
  template <class T>
  static T f(T x) {
    return m::cosh(x);
  }
};
struct Degrees {
  template <class T>
  static T f(T x) {
    return x * T(180 / kPi);
  }
};
struct Digamma {
  template <class T>
  static T f(T x) {
    return T(special::digamma(x));
  }
};
struct Erf {
  template <class T>
  static T f(T x) {
    return m::erf(x);
  }
};
struct Erfinv {
  template <class T>
  static T f(T x) {
    return T(special::erfinv(x));
  }
};
struct Exp {
  template <class T>
  static T f(T x) {
    return m::exp(x);
  }
};
struct Expm1 {
  template <class T>
  static T f(T x) {
    return m::expm1(x);
  }
};
struct Floor {
  template <class T>
  static T f(T x) {
    return m::floor(x);
  }
};
struct Gamma {
  template <class T>
  static T f(T x) {
    return T(special::gamma(x));
  }
};
struct Gammaln {
  template <class T>
  static T f(T x) {
    return T(special::gammaln(x));
  }
};
struct Log {
  template <class T>
  static T f(T x) {
    return m::log(x);
  }
};
struct Log10 {
  template <class T>
  static T f(T x) {
    return m::log10(x);
  }
};
struct Log1p {
  template <class T>
  static T f(T x) {
    return m::log1p(x);
  }
};
struct Log2 {
  template <class T>
  static T f(T x) {
    return m::log2(x);
  }
};
struct LogicalNot {
  template <class T>
  static T f(T x) {
    return x == T(0) ? T(1) : T(0);
  }
};
struct Negative {
  template <class T>
  static T f(T x) {
    return -x;
  }
};
struct NotNan {
  template <class T>
  static T f(T x) {
    return x == x ? T(1) : T(0);
  }
};
struct Radians {
  template <class T>
  static T f(T x) {
    return x * T(kPi / 180);
  }
};
struct Rcbrt {
  template <class T>
  static T f(T x) {
    return T(1) / m::cbrt(x);
  }
};
struct Reciprocal {
  template <class T>
  static T f(T x) {
    return T(1) / x;
  }
};
struct Relu {
  template <class T>
  static T f(T x) {
    return x <= T(0) ? T(0) : x;
  }
};  // NaN stays NaN
// To the nearest, halves away from zero for round and down for rint, as MXNet does.
struct Rint {
  template <class T>
  static T f(T x) {
    const T low = m::floor(x);
    return x - low <= T(0.5) ? low : m::ceil(x);
  }
};
struct Round {
  template <class T>
  static T f(T x) {
    const T whole = m::trunc(x);
    return m::abs(x - whole) >= T(0.5) ? whole + m::copysign(T(1), x) : whole;
  }
};
struct Rsqrt {
  template <class T>
  static T f(T x) {
    return T(1) / m::sqrt(x);
  }
};
struct Sigmoid {
  template <class T>
  static T f(T x) {
    return T(1) / (T(1) + m::exp(-x));
  }
};
struct Sign {
  template <class T>
  static T f(T x) {
    const T up = x > T(0) ? T(1) : x;
    return x < T(0) ? T(-1) : up;
  }
};
struct Sin {
  template <class T>
  static T f(T x) {
    return m::sin(x);
  }
};
struct Sinh {
  template <class T>
  static T f(T x) {
    return m::sinh(x);
  }
};
struct Softrelu {
  template <class T>
  static T f(T x) {
    const T positive = x > T(0) ? x : T(0);
    return positive + m::log1p(m::exp(-m::abs(x)));
  }
};
struct Softsign {
  template <class T>
  static T f(T x) {
    return x / (T(1) + m::abs(x));
  }
};
struct Sqrt {
  template <class T>
  static T f(T x) {
    return m::sqrt(x);
  }
};
struct Square {
  template <class T>
  static T f(T x) {
    return x * x;
  }
};
struct Tan {
  template <class T>
  static T f(T x) {
    return m::tan(x);
  }
};
struct Tanh {
  template <class T>
  static T f(T x) {
    return m::tanh(x);
  }
};
struct Trigamma {
  template <class T>
  static T f(T x) {
    return T(special::trigamma(x));
  }
};
struct Trunc {
  template <class T>
  static T f(T x) {
    return m::trunc(x);
  }
};

template <class F>
void put(UnaryLoops& loops, Unary op) {
  loops.f32[static_cast<int>(op)] = loop<F, float>;
  loops.f64[static_cast<int>(op)] = loop<F, double>;
}

}  // namespace

const UnaryLoops& unary_loops() {
  static const UnaryLoops made = [] {
    UnaryLoops t{};
    put<Abs>(t, Unary::abs);
    put<Arccos>(t, Unary::arccos);
    put<Arccosh>(t, Unary::arccosh);
    put<Arcsin>(t, Unary::arcsin);
    put<Arcsinh>(t, Unary::arcsinh);
    put<Arctan>(t, Unary::arctan);
    put<Arctanh>(t, Unary::arctanh);
    put<Cbrt>(t, Unary::cbrt);
    put<Ceil>(t, Unary::ceil);
    put<Cos>(t, Unary::cos);
    put<Cosh>(t, Unary::cosh);
    put<Degrees>(t, Unary::degrees);
    put<Digamma>(t, Unary::digamma);
    put<Erf>(t, Unary::erf);
    put<Erfinv>(t, Unary::erfinv);
    put<Exp>(t, Unary::exp);
    put<Expm1>(t, Unary::expm1);
    put<Trunc>(t, Unary::fix);
    put<Floor>(t, Unary::floor);
    put<Gamma>(t, Unary::gamma);
    put<Gammaln>(t, Unary::gammaln);
    put<Log>(t, Unary::log);
    put<Log10>(t, Unary::log10);
    put<Log1p>(t, Unary::log1p);
    put<Log2>(t, Unary::log2);
    put<LogicalNot>(t, Unary::logical_not);
    put<Negative>(t, Unary::negative);
    put<NotNan>(t, Unary::not_nan);
    put<Radians>(t, Unary::radians);
    put<Rcbrt>(t, Unary::rcbrt);
    put<Reciprocal>(t, Unary::reciprocal);
    put<Relu>(t, Unary::relu);
    put<Rint>(t, Unary::rint);
    put<Round>(t, Unary::round);
    put<Rsqrt>(t, Unary::rsqrt);
    put<Sigmoid>(t, Unary::sigmoid);
    put<Sign>(t, Unary::sign);
    put<Sin>(t, Unary::sin);
    put<Sinh>(t, Unary::sinh);
    put<Softrelu>(t, Unary::softrelu);
    put<Softsign>(t, Unary::softsign);
    put<Sqrt>(t, Unary::sqrt);
    put<Square>(t, Unary::square);
    put<Tan>(t, Unary::tan);
    put<Tanh>(t, Unary::tanh);
    put<Trigamma>(t, Unary::trigamma);
    return t;
  }();
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
