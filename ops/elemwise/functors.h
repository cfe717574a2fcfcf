// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

// What the elementwise functors share. A functor has a static template f<M>(x) or f<M>(a, b), where M has the
// mathematical functions of the target: `Math` of simd_math.h for each instruction set of the CPU, another one for
// CUDA. They are written without branches around calls, so that g++ vectorises loops over them, and are constexpr, so
// that nvcc compiles them for both sides. A functor without overload for integers is computed in double for those.
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

// Unsigned arithmetic of at least 32 bits wraps without being undefined.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) < 8, uint32_t, uint64_t>;

}  // namespace loomix::ops
