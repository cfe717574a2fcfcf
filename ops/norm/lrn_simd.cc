// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "ops/isa.h"
#include "ops/norm/lrn_loops.h"
#include "ops/simd_math.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kAtOnce = 16;  // places whose sums stay in registers
typedef float Floats __attribute__((vector_size(kAtOnce / 2 * sizeof(float))));
typedef float LooseFloats __attribute__((vector_size(kAtOnce / 2 * sizeof(float)), aligned(4), may_alias));

// d^-0.75 times own. Roots and sums use different parts of a core: by turns over few places, they take hardly longer than the
// roots alone.
template <class Count>
void finish(float* d, float constant, float factor, const float* own, float* y, float* kept, Count places) {
  const int64_t count = places;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    d[i] = constant + factor * d[i];
    y[i] = own[i] / Math::sqrt(d[i] * Math::sqrt(d[i]));
  }
  for (int64_t i = 0; kept != nullptr && i < count; ++i) kept[i] = d[i];
}

void forward(const float* x, int64_t plane, int64_t planes, float constant, float factor, const float* own,
             float* y, float* kept, int64_t places) {
  int64_t first = 0;
  for (; first + kAtOnce <= places; first += kAtOnce) {
    Floats left = {}, right = {};
    for (int64_t c = 0; c < planes; ++c) {
      const LooseFloats* const from = reinterpret_cast<const LooseFloats*>(x + c * plane + first);
      left += from[0] * from[0];
      right += from[1] * from[1];
    }
    float d[kAtOnce];
    *reinterpret_cast<LooseFloats*>(d) = left;
    *reinterpret_cast<LooseFloats*>(d + kAtOnce / 2) = right;
    finish(d, constant, factor, own + first, y + first, kept ? kept + first : nullptr,
           std::integral_constant<int64_t, kAtOnce>{});
  }
  float d[kAtOnce] = {};
  for (int64_t c = 0; c < planes; ++c)
    for (int64_t i = first; i < places; ++i) d[i - first] += x[c * plane + i] * x[c * plane + i];
  finish(d, constant, factor, own + first, y + first, kept ? kept + first : nullptr, places - first);
}

}  // namespace

template <>
const LrnPlaneLoops& compiled_loops() {
  static constexpr LrnPlaneLoops made = {forward};
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
