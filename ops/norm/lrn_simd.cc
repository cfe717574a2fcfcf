// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "ops/isa.h"
#include "ops/norm/lrn_loops.h"
#include "ops/simd_math.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kAtOnce = 64;  // places whose sums stay in registers

template <class A>
A power(A x) {
  return 1 / Math::sqrt(x * Math::sqrt(x));
}

// Calls fn(first, places, d) for pieces of the places, where d is constant + factor * the sum of the squares of the planes.
template <class T, class A, class Fn>
void each_denominators(const T* x, int64_t plane, int64_t planes, A constant, A factor, int64_t places,
                       Fn&& fn) {
  const auto run = [&](int64_t first, auto count) {
    A d[kAtOnce] = {};
    for (int64_t c = 0; c < planes; ++c) {
      const T* const from = x + c * plane + first;
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) d[i] += static_cast<A>(from[i]) * static_cast<A>(from[i]);
    }
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) d[i] = constant + factor * d[i];
    fn(first, count, d);
  };
  int64_t first = 0;
  for (; first + kAtOnce <= places; first += kAtOnce) run(first, std::integral_constant<int64_t, kAtOnce>{});
  if (first < places) run(first, places - first);
}

template <class T, class A>
void denominators(const T* x, int64_t plane, int64_t planes, A constant, A factor, A* out, int64_t places) {
  each_denominators(x, plane, planes, constant, factor, places, [&](int64_t first, auto count, const A* d) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) out[first + i] = d[i];
  });
}

// Roots and sums use different parts of a core, so together they take hardly longer than the roots.
template <class T, class A>
void forward(const T* x, int64_t plane, int64_t planes, A constant, A factor, const T* own, T* y, T* kept,
             int64_t places) {
  each_denominators(x, plane, planes, constant, factor, places, [&](int64_t first, auto count, const A* d) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
      y[first + i] = static_cast<T>(static_cast<A>(own[first + i]) * power(d[i]));
    if (kept == nullptr) return;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) kept[first + i] = static_cast<T>(d[i]);
  });
}

template <class T, class A>
void scale(const T* x, const A* power, T* y, int64_t places) {
#pragma omp simd
  for (int64_t i = 0; i < places; ++i) y[i] = static_cast<T>(static_cast<A>(x[i]) * power[i]);
}

template <class A>
void powers(const A* x, A* y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = power(x[i]);
}

template <class T>
constexpr LrnPlaneLoops<T> kPlanes = {denominators<T, Accum<T>>, scale<T, Accum<T>>, forward<T, Accum<T>>};

}  // namespace

template <>
const LrnPlaneTable& compiled_loops() {
  static constexpr LrnPlaneTable made = {
      {kPlanes<float>, kPlanes<double>, kPlanes<float16>, kPlanes<bfloat16>},
      {powers<float>, powers<double>}};
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
