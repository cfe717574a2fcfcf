// SPDX-License-Identifier: Apache-2.0
#include "ops/isa.h"
#include "ops/sparse/loops.h"

#include <algorithm>

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kAhead = 8;  // rows that are asked for before their turn: they lie anywhere in memory

// A block of elements stays in registers while all rows are added to it.
template <class T>
void weighted_rows(const T* values, const T* const* rows, int64_t count, T* sum, int64_t size) {
  constexpr int kLanes = 64 / sizeof(T);
  int64_t at = 0;
  for (; at + kLanes <= size; at += kLanes) {
    T lanes[kLanes] = {};
    for (int64_t k = 0; k < count; ++k) {
      if (k + kAhead < count) __builtin_prefetch(rows[k + kAhead] + at);
      const T value = values[k];
      const T* const row = rows[k] + at;
#pragma omp simd
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += value * row[lane];
    }
    std::copy_n(lanes, kLanes, sum + at);
  }
  const int64_t rest = size - at;
  if (rest == 0) return;
  std::fill_n(sum + at, rest, T(0));
  for (int64_t k = 0; k < count; ++k) {
    if (k + kAhead < count) __builtin_prefetch(rows[k + kAhead] + at);
    for (int64_t i = 0; i < rest; ++i) sum[at + i] += values[k] * rows[k][at + i];
  }
}

}  // namespace

template <>
const SparseLoops& compiled_loops() {
  static constexpr SparseLoops loops{weighted_rows<float>, weighted_rows<double>};
  return loops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
