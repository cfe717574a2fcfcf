// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/loops.h"
#include "ops/simd_math.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

template <class F, class T, Spread S>
void loop(const void* left, const void* right, void* to, int64_t count) {
  const T* a = static_cast<const T*>(left);
  const T* b = static_cast<const T*>(right);
  T* y = static_cast<T*>(to);
  if constexpr (S == Spread::none) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] = F::f(a[i], b[i]);
  } else if constexpr (S == Spread::right) {
    const T single = *b;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] = F::f(a[i], single);
  } else {
    const T single = *a;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] = F::f(single, b[i]);
  }
}

template <class T>
T truth(bool value) {
  return value ? T(1) : T(0);
}

struct Add {
  template <class T>
  static T f(T a, T b) {
    return a + b;
  }
};
struct Sub {
  template <class T>
  static T f(T a, T b) {
    return a - b;
  }
};
struct Mul {
  template <class T>
  static T f(T a, T b) {
    return a * b;
  }
};
struct Div {
  template <class T>
  static T f(T a, T b) {
    return a / b;
  }
};
// The remainder has the divisor's sign, and is 0 for divisor 0.
struct Mod {
  static float remainder(float a, float b) { return __builtin_fmodf(a, b); }
  static double remainder(double a, double b) { return __builtin_fmod(a, b); }
  template <class T>
  static T f(T a, T b) {
    if (b == T(0)) return T(0);
    const T rest = remainder(a, b);
    return rest != T(0) && (rest < T(0)) != (b < T(0)) ? rest + b : rest;
  }
};
struct Power {
  template <class T>
  static T f(T a, T b) {
    return m::pow(a, b);
  }
};
struct Maximum {
  template <class T>
  static T f(T a, T b) {
    const T greater = a > b ? a : b;
    return a != a ? a : greater;
  }
};
struct Minimum {
  template <class T>
  static T f(T a, T b) {
    const T lesser = a < b ? a : b;
    return a != a ? a : lesser;
  }
};
struct Hypot {
  template <class T>
  static T f(T a, T b) {
    return m::hypot(a, b);
  }
};
struct Equal {
  template <class T>
  static T f(T a, T b) {
    return truth<T>(a == b);
  }
};
struct NotEqual {
  template <class T>
  static T f(T a, T b) {
    return truth<T>(a != b);
  }
};
struct Greater {
  template <class T>
  static T f(T a, T b) {
    return truth<T>(a > b);
  }
};
struct GreaterEqual {
  template <class T>
  static T f(T a, T b) {
    return truth<T>(a >= b);
  }
};
struct Lesser {
  template <class T>
  static T f(T a, T b) {
    return truth<T>(a < b);
  }
};
struct LesserEqual {
  template <class T>
  static T f(T a, T b) {
    return truth<T>(a <= b);
  }
};
struct LogicalAnd {
  template <class T>
  static T f(T a, T b) {
    return truth<T>((a != T(0)) & (b != T(0)));
  }
};
struct LogicalOr {
  template <class T>
  static T f(T a, T b) {
    return truth<T>((a != T(0)) | (b != T(0)));
  }
};
struct LogicalXor {
  template <class T>
  static T f(T a, T b) {
    return truth<T>((a != T(0)) != (b != T(0)));
  }
};
// Quadratic within 1 / sigma^2 of zero, linear outside.
struct SmoothL1 {
  template <class T>
  static T f(T x, T sigma) {
    const T square = sigma * sigma;
    const T inner = T(0.5) * x * x * square;
    const T outer = m::abs(x) - T(0.5) / square;
    return m::abs(x) > T(1) / square ? outer : inner;
  }
};
struct SmoothL1Slope {
  template <class T>
  static T f(T x, T sigma) {
    const T square = sigma * sigma;
    return m::abs(x) > T(1) / square ? m::copysign(T(1), x) : square * x;
  }
};
struct BackwardRelu {
  template <class T>
  static T f(T g, T y) {
    return y > T(0) ? g : T(0);
  }
};
struct BackwardSigmoid {
  template <class T>
  static T f(T g, T y) {
    return g * y * (T(1) - y);
  }
};
struct BackwardTanh {
  template <class T>
  static T f(T g, T y) {
    return g * (T(1) - y * y);
  }
};
struct BackwardSoftsign {
  template <class T>
  static T f(T g, T x) {
    const T scale = T(1) + m::abs(x);
    return g / (scale * scale);
  }
};
struct BackwardAbs {
  template <class T>
  static T f(T g, T x) {
    const T up = x > T(0) ? g : T(0);
    return x < T(0) ? -g : up;
  }
};
struct BackwardSquare {
  template <class T>
  static T f(T g, T x) {
    return T(2) * g * x;
  }
};

template <class F, class T>
void put_type(BinaryLoop (&place)[3]) {
  place[static_cast<int>(Spread::none)] = loop<F, T, Spread::none>;
  place[static_cast<int>(Spread::right)] = loop<F, T, Spread::right>;
  place[static_cast<int>(Spread::left)] = loop<F, T, Spread::left>;
}

template <class F>
void put(BinaryLoops& loops, Binary op) {
  put_type<F, float>(loops.f32[static_cast<int>(op)]);
  put_type<F, double>(loops.f64[static_cast<int>(op)]);
}

}  // namespace

const BinaryLoops& binary_loops() {
  static const BinaryLoops made = [] {
    BinaryLoops t{};
    put<Add>(t, Binary::add);
    put<Sub>(t, Binary::sub);
    put<Mul>(t, Binary::mul);
    put<Div>(t, Binary::div);
    put<Mod>(t, Binary::mod);
    put<Power>(t, Binary::power);
    put<Maximum>(t, Binary::maximum);
    put<Minimum>(t, Binary::minimum);
    put<Hypot>(t, Binary::hypot);
    put<Equal>(t, Binary::equal);
    put<NotEqual>(t, Binary::not_equal);
    put<Greater>(t, Binary::greater);
    put<GreaterEqual>(t, Binary::greater_equal);
    put<Lesser>(t, Binary::lesser);
    put<LesserEqual>(t, Binary::lesser_equal);
    put<LogicalAnd>(t, Binary::logical_and);
    put<LogicalOr>(t, Binary::logical_or);
    put<LogicalXor>(t, Binary::logical_xor);
    put<SmoothL1>(t, Binary::smooth_l1);
    put<SmoothL1Slope>(t, Binary::smooth_l1_slope);
    put<BackwardRelu>(t, Binary::backward_relu);
    put<BackwardSigmoid>(t, Binary::backward_sigmoid);
    put<BackwardTanh>(t, Binary::backward_tanh);
    put<BackwardSoftsign>(t, Binary::backward_softsign);
    put<BackwardAbs>(t, Binary::backward_abs);
    put<BackwardSquare>(t, Binary::backward_square);
    return t;
  }();
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
