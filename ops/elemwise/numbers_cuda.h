// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/cuda/elementwise.h"
#include "ops/cuda/math.h"
#include "ops/elemwise/integers_cuda.h"

// The functors of the elementwise lists as functors of device code.
namespace loomix::cuda {

template <class F>
struct Applied {
  template <class... T>
  __device__ auto operator()(T... x) const {
    return F::f(Math{}, x...);
  }
};

}  // namespace loomix::cuda
