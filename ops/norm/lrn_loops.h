// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::ops {

// LRN of planes of float32 with the usual beta of 0.75, compiled once per instruction set.
struct LrnPlaneLoops {
  // With d = constant + factor * the sum of the squares of so many planes, `plane` elements apart: y = own * d^-0.75. `kept`
  // takes d, unless it is null.
  void (*forward)(const float* x, int64_t plane, int64_t planes, float constant, float factor,
                  const float* own, float* y, float* kept, int64_t places);
};

}  // namespace loomix::ops
