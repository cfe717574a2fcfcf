// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/elemwise/functors.h"

// Functions of two arguments; binary.h and scalar.h list the operators made of them.
namespace loomix::ops::fn {

struct Add {
  template <class M, Real T>
  static constexpr T f(T a, T b) {
    return a + b;
  }
  template <class M, Integer T>
  static constexpr T f(T a, T b) {
    return T(Wrapping<T>(a) + Wrapping<T>(b));
  }
};
struct Sub {
  template <class M, Real T>
  static constexpr T f(T a, T b) {
    return a - b;
  }
  template <class M, Integer T>
  static constexpr T f(T a, T b) {
    return T(Wrapping<T>(a) - Wrapping<T>(b));
  }
};
struct Mul {
  template <class M, Real T>
  static constexpr T f(T a, T b) {
    return a * b;
  }
  template <class M, Integer T>
  static constexpr T f(T a, T b) {
    return T(Wrapping<T>(a) * Wrapping<T>(b));
  }
};
struct Div {
  template <class M, Real T>
  static constexpr T f(T a, T b) {
    return a / b;
  }
  template <class M, Integer T>
  static constexpr T f(T a, T b) {
    if (b == 0) return 0;
    if (std::is_signed_v<T> && b == T(-1)) return T(Wrapping<T>(0) - Wrapping<T>(a));
    return T(a / b);
  }
};
// The remainder has the divisor's sign, and is 0 for divisor 0.
struct Mod {
  template <class M, Real T>
  static constexpr T f(T a, T b) {
    if (b == T(0)) return T(0);
    const T rest = M::fmod(a, b);
    return rest != T(0) && is_negative(rest) != is_negative(b) ? rest + b : rest;
  }
  template <class M, Integer T>
  static constexpr T f(T a, T b) {
    if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return 0;
    const T rest = T(a % b);
    return rest != 0 && is_negative(rest) != is_negative(b) ? T(rest + b) : rest;
  }
};
struct Power {
  template <class M, Real T>
  static constexpr T f(T a, T b) {
    return M::pow(a, b);
  }
};
struct Maximum {
  template <class M, class T>
  static constexpr T f(T a, T b) {
    const T greater = a > b ? a : b;
    return a != a ? a : greater;
  }
};
struct Minimum {
  template <class M, class T>
  static constexpr T f(T a, T b) {
    const T lesser = a < b ? a : b;
    return a != a ? a : lesser;
  }
};
struct Hypot {
  template <class M, Real T>
  static constexpr T f(T a, T b) {
    return M::hypot(a, b);
  }
};
struct Equal {
  template <class M, class T>
  static constexpr T f(T a, T b) {
    return truth<T>(a == b);
  }
};
struct NotEqual {
  template <class M, class T>
  static constexpr T f(T a, T b) {
    return truth<T>(a != b);
  }
};
struct Greater {
  template <class M, class T>
  static constexpr T f(T a, T b) {
    return truth<T>(a > b);
  }
};
struct GreaterEqual {
  template <class M, class T>
  static constexpr T f(T a, T b) {
    return truth<T>(a >= b);
  }
};
struct Lesser {
  template <class M, class T>
  static constexpr T f(T a, T b) {
    return truth<T>(a < b);
  }
};
struct LesserEqual {
  template <class M, class T>
  static constexpr T f(T a, T b) {
    return truth<T>(a <= b);
  }
};
struct LogicalAnd {
  template <class M, class T>
  static constexpr T f(T a, T b) {
    return truth<T>((a != T(0)) & (b != T(0)));
  }
};
struct LogicalOr {
  template <class M, class T>
  static constexpr T f(T a, T b) {
    return truth<T>((a != T(0)) | (b != T(0)));
  }
};
struct LogicalXor {
  template <class M, class T>
  static constexpr T f(T a, T b) {
    return truth<T>((a != T(0)) != (b != T(0)));
  }
};
// Quadratic within 1 / sigma^2 of zero, linear outside.
struct SmoothL1 {
  template <class M, Real T>
  static constexpr T f(T x, T sigma) {
    const T square = sigma * sigma;
    const T inner = T(0.5) * x * x * square;
    const T outer = M::abs(x) - T(0.5) / square;
    return M::abs(x) > T(1) / square ? outer : inner;
  }
};
struct SmoothL1Slope {
  template <class M, Real T>
  static constexpr T f(T x, T sigma) {
    const T square = sigma * sigma;
    return M::abs(x) > T(1) / square ? M::copysign(T(1), x) : square * x;
  }
};
// Gradients take (gradient, value that forward kept). As in MXNet, that of relu is NaN at NaN.
struct BackwardRelu {
  template <class M, Real T>
  static constexpr T f(T g, T y) {
    const T down = y != y ? y : T(0);
    return y > T(0) ? g : down;
  }
};
struct BackwardSigmoid {
  template <class M, Real T>
  static constexpr T f(T g, T y) {
    return g * y * (T(1) - y);
  }
};
struct BackwardTanh {
  template <class M, Real T>
  static constexpr T f(T g, T y) {
    return g * (T(1) - y * y);
  }
};
struct BackwardSoftrelu {
  template <class M, Real T>
  static constexpr T f(T g, T y) {
    return -g * M::expm1(-y);
  }
};
struct BackwardSoftsign {
  template <class M, Real T>
  static constexpr T f(T g, T x) {
    const T scale = T(1) + M::abs(x);
    return g / (scale * scale);
  }
};
struct BackwardAbs {
  template <class M, Real T>
  static constexpr T f(T g, T x) {
    const T up = x > T(0) ? g : T(0);
    return x < T(0) ? -g : up;
  }
};
struct BackwardSquare {
  template <class M, Real T>
  static constexpr T f(T g, T x) {
    return T(2) * g * x;
  }
};

}  // namespace loomix::ops::fn
