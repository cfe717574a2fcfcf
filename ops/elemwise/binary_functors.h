// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "ops/elemwise/functors.h"

// Functions of two arguments; binary.h and scalar.h list the operators made of them.
namespace loomix::ops::fn {

struct Add {
  static constexpr auto f(auto, Real auto a, Real auto b) { return a + b; }
  static constexpr auto f(auto, Integer auto a, Integer auto b) { return decltype(a)(wide(a) + wide(b)); }
};
struct Sub {
  static constexpr auto f(auto, Real auto a, Real auto b) { return a - b; }
  static constexpr auto f(auto, Integer auto a, Integer auto b) { return decltype(a)(wide(a) - wide(b)); }
};
struct Mul {
  static constexpr auto f(auto, Real auto a, Real auto b) { return a * b; }
  static constexpr auto f(auto, Integer auto a, Integer auto b) { return decltype(a)(wide(a) * wide(b)); }
};
struct Div {
  static constexpr auto f(auto, Real auto a, Real auto b) { return a / b; }
  template <Integer T>
  static constexpr T f(auto, T a, T b) {
    if (b == 0) return 0;
    if (std::is_signed_v<T> && b == T(-1)) return T(0 - wide(a));
    return T(a / b);
  }
};
// The remainder has the divisor's sign, and is 0 for divisor 0.
struct Mod {
  template <Real T>
  static constexpr T f(auto m, T a, T b) {
    if (b == 0) return 0;
    const T rest = m.fmod(a, b);
    return rest != 0 && is_negative(rest) != is_negative(b) ? rest + b : rest;
  }
  template <Integer T>
  static constexpr T f(auto, T a, T b) {
    if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return 0;
    const T rest = T(a % b);
    return rest != 0 && is_negative(rest) != is_negative(b) ? T(rest + b) : rest;
  }
};
struct Power {
  static constexpr auto f(auto m, Real auto a, Real auto b) { return m.pow(a, b); }
};
struct Maximum {
  static constexpr auto f(auto, auto a, auto b) {
    const auto greater = a > b ? a : b;
    return a != a ? a : greater;
  }
};
struct Minimum {
  static constexpr auto f(auto, auto a, auto b) {
    const auto lesser = a < b ? a : b;
    return a != a ? a : lesser;
  }
};
struct Hypot {
  static constexpr auto f(auto m, Real auto a, Real auto b) { return m.hypot(a, b); }
};
// The angle of the point (b, a).
struct Arctan2 {
  template <Real T>
  static constexpr T f(auto m, T a, T b) {
    constexpr T kPi = T(3.14159265358979323846);
    const bool infinite =
        m.abs(a) > std::numeric_limits<T>::max() && m.abs(b) > std::numeric_limits<T>::max();
    const T y = infinite ? m.copysign(T(1), a) : a, x = infinite ? m.copysign(T(1), b) : b;
    const T angle =
        y == 0 && x == 0 ? m.copysign(y, m.copysign(T(1), a) * m.copysign(T(1), b)) : m.atan(y / x);
    return m.copysign(T(1), b) < 0 ? angle + m.copysign(kPi, a) : angle;
  }
};
struct Copysign {
  static constexpr auto f(auto m, Real auto a, Real auto b) { return m.copysign(a, b); }
};
// Of integers; others are cut off.
struct BitwiseAnd {
  static constexpr auto f(auto, Integer auto a, Integer auto b) { return decltype(a)(a & b); }
  static constexpr auto f(auto, Real auto a, Real auto b) { return decltype(a)(int64_t(a) & int64_t(b)); }
};
struct BitwiseOr {
  static constexpr auto f(auto, Integer auto a, Integer auto b) { return decltype(a)(a | b); }
  static constexpr auto f(auto, Real auto a, Real auto b) { return decltype(a)(int64_t(a) | int64_t(b)); }
};
struct BitwiseXor {
  static constexpr auto f(auto, Integer auto a, Integer auto b) { return decltype(a)(a ^ b); }
  static constexpr auto f(auto, Real auto a, Real auto b) { return decltype(a)(int64_t(a) ^ int64_t(b)); }
};
// The bits moved to higher places, by none to all; those that leave are lost.
struct LeftShift {
  static constexpr auto f(auto, Integer auto a, Integer auto b) {
    const bool none_left = is_negative(b) || uint64_t(b) >= 8 * sizeof(a);
    return none_left ? decltype(a)(0) : decltype(a)(uint64_t(a) << uint64_t(b));
  }
  static constexpr auto f(auto m, Real auto a, Real auto b) {
    return decltype(a)(f(m, int64_t(a), int64_t(b)));
  }
};
// The bits moved to lower places; copies of the sign follow them.
struct RightShift {
  static constexpr auto f(auto, Integer auto a, Integer auto b) {
    const bool none_left = is_negative(b) || uint64_t(b) >= 8 * sizeof(a);
    return none_left ? decltype(a)(is_negative(a) ? -1 : 0) : decltype(a)(a >> b);
  }
  static constexpr auto f(auto m, Real auto a, Real auto b) {
    return decltype(a)(f(m, int64_t(a), int64_t(b)));
  }
};
// The greatest common divisor, of absolute values; that of 0 and b is b.
struct Gcd {
  template <Integer T>
  static constexpr T f(auto, T a, T b) {
    auto x = is_negative(a) ? decltype(wide(a))(0) - wide(a) : wide(a);
    auto y = is_negative(b) ? decltype(wide(b))(0) - wide(b) : wide(b);
    while (y != 0) {
      const auto rest = x % y;
      x = y;
      y = rest;
    }
    return T(x);
  }
  template <Real T>
  static constexpr T f(auto m, T a, T b) {
    return T(f(m, int64_t(a), int64_t(b)));
  }
};
// The least common multiple, of absolute values.
struct Lcm {
  template <Integer T>
  static constexpr T f(auto m, T a, T b) {
    const T divisor = Gcd::f(m, a, b);
    if (divisor == 0) return 0;
    const T multiple = T(wide(T(a / divisor)) * wide(b));
    return is_negative(multiple) ? T(decltype(wide(a))(0) - wide(multiple)) : multiple;
  }
  template <Real T>
  static constexpr T f(auto m, T a, T b) {
    return T(f(m, int64_t(a), int64_t(b)));
  }
};
struct Equal {
  static constexpr auto f(auto, auto a, auto b) { return truth<decltype(a)>(a == b); }
};
struct NotEqual {
  static constexpr auto f(auto, auto a, auto b) { return truth<decltype(a)>(a != b); }
};
struct Greater {
  static constexpr auto f(auto, auto a, auto b) { return truth<decltype(a)>(a > b); }
};
struct GreaterEqual {
  static constexpr auto f(auto, auto a, auto b) { return truth<decltype(a)>(a >= b); }
};
struct Lesser {
  static constexpr auto f(auto, auto a, auto b) { return truth<decltype(a)>(a < b); }
};
struct LesserEqual {
  static constexpr auto f(auto, auto a, auto b) { return truth<decltype(a)>(a <= b); }
};
struct LogicalAnd {
  static constexpr auto f(auto, auto a, auto b) { return truth<decltype(a)>((a != 0) & (b != 0)); }
};
struct LogicalOr {
  static constexpr auto f(auto, auto a, auto b) { return truth<decltype(a)>((a != 0) | (b != 0)); }
};
struct LogicalXor {
  static constexpr auto f(auto, auto a, auto b) { return truth<decltype(a)>((a != 0) != (b != 0)); }
};
// Quadratic within 1 / sigma^2 of zero, linear outside.
struct SmoothL1 {
  template <Real T>
  static constexpr T f(auto m, T x, T sigma) {
    const T square = sigma * sigma;
    const T inner = T(0.5) * x * x * square;
    const T outer = m.abs(x) - T(0.5) / square;
    return m.abs(x) > 1 / square ? outer : inner;
  }
};
struct SmoothL1Slope {
  template <Real T>
  static constexpr T f(auto m, T x, T sigma) {
    const T square = sigma * sigma;
    return m.abs(x) > 1 / square ? m.copysign(T(1), x) : square * x;
  }
};
// Gradients take (gradient, value that forward kept). As in MXNet, that of relu is NaN at NaN.
struct BackwardRelu {
  static constexpr auto f(auto, Real auto g, Real auto y) {
    const auto down = y != y ? y : 0;
    return y > 0 ? g : down;
  }
};
struct BackwardSigmoid {
  static constexpr auto f(auto, Real auto g, Real auto y) { return g * y * (1 - y); }
};
struct BackwardTanh {
  static constexpr auto f(auto, Real auto g, Real auto y) { return g * (1 - y * y); }
};
struct BackwardSoftrelu {
  static constexpr auto f(auto m, Real auto g, Real auto y) { return -g * m.expm1(-y); }
};
struct BackwardSoftsign {
  static constexpr auto f(auto m, Real auto g, Real auto x) {
    const auto scale = 1 + m.abs(x);
    return g / (scale * scale);
  }
};
struct BackwardAbs {
  static constexpr auto f(auto, Real auto g, Real auto x) {
    const auto up = x > 0 ? g : 0;
    return x < 0 ? -g : up;
  }
};
struct BackwardSquare {
  static constexpr auto f(auto, Real auto g, Real auto x) { return 2 * g * x; }
};

}  // namespace loomix::ops::fn
