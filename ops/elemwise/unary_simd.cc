// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/unary.h"
#include "ops/isa.h"
#include "ops/simd_math.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

template <class F, class T>
void loop(const void* from, void* to, int64_t count) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = F::f(Math{}, x[i]);
}

template <class F, class T>
constexpr UnaryLoop loop_if_any() {
  if constexpr (requires(T x) { F::f(Math{}, x); }) return loop<F, T>;
  else return nullptr;
}

template <class T, class... F>
constexpr UnaryLoop kLoops[] = {loop_if_any<F, T>()...};

template <class... F>
constexpr UnaryLoops loops_of(Functors<F...>) {
  return {kLoops<float, F...>,   kLoops<double, F...>,  kLoops<int8_t, F...>,
          kLoops<uint8_t, F...>, kLoops<int32_t, F...>, kLoops<int64_t, F...>};
}

}  // namespace

template <>
const UnaryLoops& compiled_loops() {
  static constexpr UnaryLoops made = loops_of(UnaryFunctors{});
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
