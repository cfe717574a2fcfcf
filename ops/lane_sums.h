// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::ops {

// The sum of fn(i) over [first, first + length), by sixteen independent sums so that it vectorises.
template <class A, class Fn>
A sum_run(int64_t first, int64_t length, Fn&& fn) {
  constexpr int64_t kLanes = 16;
  A lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
#pragma omp simd
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += fn(first + i + lane);
  }
  A sum = 0;
  for (; i < length; ++i) sum += fn(first + i);
  for (A lane : lanes) sum += lane;
  return sum;
}

}  // namespace loomix::ops
