// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::ops {

// The sum of fn(i) over [first, first + length), by sixteen independent sums so that it vectorises.
template <class A, class Fn>
A sum_run(int64_t first, int64_t length, Fn&& fn) {
  constexpr int64_t kLanes = 16, kVector = 16 / sizeof(A);
  A lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
#pragma GCC unroll 8  // so that the lanes stay in registers
    for (int64_t vector = 0; vector < kLanes; vector += kVector) {
#pragma omp simd
      for (int64_t lane = vector; lane < vector + kVector; ++lane) lanes[lane] += fn(first + i + lane);
    }
  }
  A sum = 0;
  for (; i < length; ++i) sum += fn(first + i);
  for (A lane : lanes) sum += lane;
  return sum;
}

}  // namespace loomix::ops
