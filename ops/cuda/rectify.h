// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/device/cuda/element.h"

namespace loomix::cuda {

// max(x, 0) as the operator `relu` has it, for operators that end with it (ops/closed_operators.h) where their library does not.
template <class T>
struct RectifyInPlace {
  T* at;
  __device__ void operator()(int64_t i) const {
    const auto x = load(at[i]);
    at[i] = store<T>(x <= 0 ? decltype(x)(0) : x);
  }
};

}  // namespace loomix::cuda
