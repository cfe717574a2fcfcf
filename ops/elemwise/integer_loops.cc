// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "ops/elemwise/loops.h"

// Integer arithmetic wraps around; division by zero gives 0.
namespace loomix::ops {
namespace {

// Unsigned arithmetic of at least 32 bits wraps without being undefined.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) < 8, uint32_t, uint64_t>;

template <class T, class F>
void unary_loop(const void* from, void* to, int64_t count) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) y[i] = F::f(x[i]);
}

struct Same {
  template <class T>
  static T f(T x) {
    return x;
  }
};
struct Abs {
  template <class T>
  static T f(T x) {
    return x < 0 ? T(Wrapping<T>(0) - Wrapping<T>(x)) : x;
  }
};
struct LogicalNot {
  template <class T>
  static T f(T x) {
    return x == 0;
  }
};
struct Negative {
  template <class T>
  static T f(T x) {
    return T(Wrapping<T>(0) - Wrapping<T>(x));
  }
};
struct NotNan {
  template <class T>
  static T f(T) {
    return 1;
  }
};
struct Relu {
  template <class T>
  static T f(T x) {
    return x > 0 ? x : 0;
  }
};
struct Sign {
  template <class T>
  static T f(T x) {
    return T((x > 0) - (x < 0));
  }
};
struct Square {
  template <class T>
  static T f(T x) {
    return T(Wrapping<T>(x) * Wrapping<T>(x));
  }
};

struct Add {
  template <class T>
  static T f(T a, T b) {
    return T(Wrapping<T>(a) + Wrapping<T>(b));
  }
};
struct Sub {
  template <class T>
  static T f(T a, T b) {
    return T(Wrapping<T>(a) - Wrapping<T>(b));
  }
};
struct Mul {
  template <class T>
  static T f(T a, T b) {
    return T(Wrapping<T>(a) * Wrapping<T>(b));
  }
};
struct Div {
  template <class T>
  static T f(T a, T b) {
    if (b == 0) return 0;
    if (std::is_signed_v<T> && b == T(-1)) return Negative::f(a);
    return T(a / b);
  }
};
struct Mod {
  template <class T>
  static T f(T a, T b) {
    if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return 0;
    const T rest = T(a % b);
    return rest != 0 && (rest < 0) != (b < 0) ? T(rest + b) : rest;
  }
};
struct Maximum {
  template <class T>
  static T f(T a, T b) {
    return std::max(a, b);
  }
};
struct Minimum {
  template <class T>
  static T f(T a, T b) {
    return std::min(a, b);
  }
};
struct Equal {
  template <class T>
  static T f(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  static T f(T a, T b) {
    return a != b;
  }
};
struct Greater {
  template <class T>
  static T f(T a, T b) {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  static T f(T a, T b) {
    return a >= b;
  }
};
struct Lesser {
  template <class T>
  static T f(T a, T b) {
    return a < b;
  }
};
struct LesserEqual {
  template <class T>
  static T f(T a, T b) {
    return a <= b;
  }
};
struct LogicalAnd {
  template <class T>
  static T f(T a, T b) {
    return (a != 0) & (b != 0);
  }
};
struct LogicalOr {
  template <class T>
  static T f(T a, T b) {
    return (a != 0) | (b != 0);
  }
};
struct LogicalXor {
  template <class T>
  static T f(T a, T b) {
    return (a != 0) != (b != 0);
  }
};

template <class T>
UnaryLoop unary_of(Unary op) {
  switch (op) {
    case Unary::ceil:
    case Unary::fix:
    case Unary::floor:
    case Unary::rint:
    case Unary::round: return unary_loop<T, Same>;
    case Unary::abs: return unary_loop<T, Abs>;
    case Unary::logical_not: return unary_loop<T, LogicalNot>;
    case Unary::negative: return unary_loop<T, Negative>;
    case Unary::not_nan: return unary_loop<T, NotNan>;
    case Unary::relu: return unary_loop<T, Relu>;
    case Unary::sign: return unary_loop<T, Sign>;
    case Unary::square: return unary_loop<T, Square>;
    default: return nullptr;
  }
}

template <class T, class F>
BinaryLoop binary_loop(Spread spread) {
  switch (spread) {
    case Spread::none:
      return [](const void* a, const void* b, void* y, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          static_cast<T*>(y)[i] = F::f(static_cast<const T*>(a)[i], static_cast<const T*>(b)[i]);
        }
      };
    case Spread::right:
      return [](const void* a, const void* b, void* y, int64_t count) {
        const T single = *static_cast<const T*>(b);
        for (int64_t i = 0; i < count; ++i) static_cast<T*>(y)[i] = F::f(static_cast<const T*>(a)[i], single);
      };
    default:
      return [](const void* a, const void* b, void* y, int64_t count) {
        const T single = *static_cast<const T*>(a);
        for (int64_t i = 0; i < count; ++i) static_cast<T*>(y)[i] = F::f(single, static_cast<const T*>(b)[i]);
      };
  }
}

template <class T>
BinaryLoop binary_of(Binary op, Spread spread) {
  switch (op) {
    case Binary::add: return binary_loop<T, Add>(spread);
    case Binary::sub: return binary_loop<T, Sub>(spread);
    case Binary::mul: return binary_loop<T, Mul>(spread);
    case Binary::div: return binary_loop<T, Div>(spread);
    case Binary::mod: return binary_loop<T, Mod>(spread);
    case Binary::maximum: return binary_loop<T, Maximum>(spread);
    case Binary::minimum: return binary_loop<T, Minimum>(spread);
    case Binary::equal: return binary_loop<T, Equal>(spread);
    case Binary::not_equal: return binary_loop<T, NotEqual>(spread);
    case Binary::greater: return binary_loop<T, Greater>(spread);
    case Binary::greater_equal: return binary_loop<T, GreaterEqual>(spread);
    case Binary::lesser: return binary_loop<T, Lesser>(spread);
    case Binary::lesser_equal: return binary_loop<T, LesserEqual>(spread);
    case Binary::logical_and: return binary_loop<T, LogicalAnd>(spread);
    case Binary::logical_or: return binary_loop<T, LogicalOr>(spread);
    case Binary::logical_xor: return binary_loop<T, LogicalXor>(spread);
    default: return nullptr;
  }
}

// bool is stored as bytes 0 and 1, and computed as such; the caller makes the results 0 or 1 again.
template <class Fn>
auto with_integer(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::int8: return fn(Type<int8_t>{});
    case DType::int32: return fn(Type<int32_t>{});
    case DType::int64: return fn(Type<int64_t>{});
    default: return fn(Type<uint8_t>{});
  }
}

}  // namespace

UnaryLoop integer_unary_loop(Unary op, DType dtype) {
  return with_integer(dtype, [&]<class T>(Type<T>) { return unary_of<T>(op); });
}

BinaryLoop integer_binary_loop(Binary op, DType dtype, Spread spread) {
  return with_integer(dtype, [&]<class T>(Type<T>) { return binary_of<T>(op, spread); });
}

}  // namespace loomix::ops
