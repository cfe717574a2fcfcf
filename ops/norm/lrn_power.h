// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/elemwise/binary.h"
#include "ops/elemwise/unary.h"

namespace loomix::ops {

// y = x^-beta, in other memory than x: by square roots for the usual beta of 0.75, several times as fast.
template <class A>
void lrn_power(double beta, const A* x, A* y, int64_t count) {
  constexpr DType kType = dtype_of<A>();
  if (beta == 0.75) {
    unary_row(unary_code<fn::Sqrt>, kType, x, y, count);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] *= x[i];
    return unary_row(unary_code<fn::Rsqrt>, kType, y, y, count);
  }
  const A exponent = -static_cast<A>(beta);
  binary_row(binary_code<fn::Power>, kType, Spread::right, x, &exponent, y, count);
}

}  // namespace loomix::ops
