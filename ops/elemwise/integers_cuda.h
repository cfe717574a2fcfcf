// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "engine/device/cuda/element.h"
#include "ops/cuda/math.h"

namespace loomix::cuda {

// Whether F computes integers as such; else they are computed in double.
template <class F, class... T>
inline constexpr bool kHasIntegers = requires(T... x) {
  F::f(Math{}, x...);
};

// y[i] = F(a[i] ...) of integers or truth values of any width.
template <class F, class... In>
__device__ void put_integer(MutableIntegerArray y, int64_t i, In... x) {
  if constexpr (kHasIntegers<F, In...>) y.set(i, static_cast<int64_t>(F::f(Math{}, x...)));
  else y.set(i, static_cast<double>(F::f(Math{}, static_cast<double>(x)...)));
}

}  // namespace loomix::cuda
