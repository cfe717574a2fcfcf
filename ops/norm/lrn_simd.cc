// SPDX-License-Identifier: Apache-2.0
#include "ops/isa.h"
#include "ops/norm/lrn_loops.h"
#include "ops/simd_math.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kAtOnce = 64;  // places that are finished before the next are begun

// Roots and sums use different parts of a core: by turns over few places, they take hardly longer than the roots alone.
void forward(const float* x, int64_t plane, int64_t planes, float constant, float factor, const float* own,
             float* y, float* kept, int64_t places) {
  for (int64_t first = 0; first < places; first += kAtOnce) {
    const int64_t left = places - first, count = left < kAtOnce ? left : kAtOnce;
    float d[kAtOnce] = {};
    for (int64_t c = 0; c < planes; ++c) {
      const float* const from = x + c * plane + first;
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) d[i] += from[i] * from[i];
    }
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      d[i] = constant + factor * d[i];
      y[first + i] = own[first + i] * (1 / Math::sqrt(d[i] * Math::sqrt(d[i])));
    }
    for (int64_t i = 0; kept != nullptr && i < count; ++i) kept[first + i] = d[i];
  }
}

}  // namespace

template <>
const LrnPlaneLoops& compiled_loops() {
  static constexpr LrnPlaneLoops made = {forward};
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
