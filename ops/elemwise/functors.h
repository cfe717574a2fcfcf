// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

// What the elementwise functors share. A functor has a static f(m, x) or f(m, a, b), where m has the mathematical
// functions of the target: it is a `Math` of simd_math.h for each instruction set of the CPU, another one for CUDA. They
// are written without branches around calls, so that g++ vectorises loops over them, and are constexpr, so that nvcc
// compiles them for both sides. A functor without overload for integers is computed in double for those.
namespace loomix::ops {

template <class T>
concept Real = std::floating_point<T>;
template <class T>
concept Integer = std::integral<T>;

template <class T>
constexpr T truth(bool value) {
  return value ? T(1) : T(0);
}

template <class T>
constexpr bool is_negative(T x) {
  if constexpr (std::is_unsigned_v<T>) return false;
  else return x < T(0);
}

// Unsigned, of at least 32 bits: its arithmetic wraps without being undefined.
constexpr auto wide(Integer auto x) { return std::conditional_t<sizeof(x) < 8, uint32_t, uint64_t>(x); }

}  // namespace loomix::ops
