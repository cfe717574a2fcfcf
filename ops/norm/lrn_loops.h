// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>

#include "base/dtype.h"

// Loops of LRN over channels that are planes, compiled once per instruction set.
namespace loomix::ops {

template <class T>
struct LrnPlaneLoops {
  using A = Accum<T>;
  // constant + factor * the sum of the squares of so many planes, `plane` elements apart.
  void (*denominators)(const T* x, int64_t plane, int64_t planes, A constant, A factor, A* out,
                       int64_t places);
  void (*scale)(const T* x, const A* power, T* y, int64_t places);
  // y = own * denominators^-0.75; keeps the denominators where `kept` is not null.
  void (*forward)(const T* x, int64_t plane, int64_t planes, A constant, A factor, const T* own, T* y,
                  T* kept, int64_t places);
};

struct LrnPlaneTable {
  std::tuple<LrnPlaneLoops<float>, LrnPlaneLoops<double>, LrnPlaneLoops<float16>, LrnPlaneLoops<bfloat16>>
      planes;
  // x^-0.75 by square roots, in other memory than x.
  std::tuple<void (*)(const float* x, float* y, int64_t count),
             void (*)(const double* x, double* y, int64_t count)>
      power;
};

}  // namespace loomix::ops
