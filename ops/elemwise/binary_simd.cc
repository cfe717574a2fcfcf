// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/binary.h"
#include "ops/isa.h"
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
    for (int64_t i = 0; i < count; ++i) y[i] = F::f(Math{}, a[i], b[i]);
  } else if constexpr (S == Spread::right) {
    const T single = *b;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] = F::f(Math{}, a[i], single);
  } else {
    const T single = *a;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] = F::f(Math{}, single, b[i]);
  }
}

template <class F, class T>
constexpr SpreadLoops loops_if_any() {
  if constexpr (requires(T x) { F::f(Math{}, x, x); }) {
    return {loop<F, T, Spread::none>, loop<F, T, Spread::right>, loop<F, T, Spread::left>};
  } else {
    return {};
  }
}

template <class T, class... F>
constexpr SpreadLoops kLoops[] = {loops_if_any<F, T>()...};

template <class... F>
constexpr BinaryLoops loops_of(Functors<F...>) {
  return {kLoops<float, F...>,   kLoops<double, F...>,  kLoops<int8_t, F...>,
          kLoops<uint8_t, F...>, kLoops<int32_t, F...>, kLoops<int64_t, F...>};
}

}  // namespace

template <>
const BinaryLoops& compiled_loops() {
  static constexpr BinaryLoops made = loops_of(BinaryFunctors{});
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
