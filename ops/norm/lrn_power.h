// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/elemwise/binary.h"
#include "ops/isa.h"
#include "ops/norm/lrn_loops.h"

namespace loomix::ops {

// y = x^-beta, in other memory than x: by square roots for the usual beta of 0.75, several times as fast.
template <class A>
void lrn_power(double beta, const A* x, A* y, int64_t count) {
  using Loop = void (*)(const A* x, A* y, int64_t count);
  if (beta == 0.75) return std::get<Loop>(best_loops<LrnPlaneTable>().power)(x, y, count);
  const A exponent = -static_cast<A>(beta);
  binary_row(binary_code<fn::Power>, dtype_of<A>(), Spread::right, x, &exponent, y, count);
}

}  // namespace loomix::ops
