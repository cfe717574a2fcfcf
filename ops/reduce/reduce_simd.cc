// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reductions.h"
#include "ops/simd_math.h"

// Rows are summed in a fixed number of lanes, so that every instruction set gives the same bits.
namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int kLanes = 16;
constexpr int64_t kShortRow = 8;  // not worth setting up lanes

template <class F, class A>
constexpr bool kHasOrigin = requires(A x) {
  F::template fold<Math>(x, x, x);
};

template <class F, class A>
A fold(A acc, A x, [[maybe_unused]] A origin) {
  if constexpr (kHasOrigin<F, A>) return F::template fold<Math>(acc, x, origin);
  else return F::template fold<Math>(acc, x);
}

template <class F, class A>
void init(void* acc, int64_t count) {
  for (int64_t i = 0; i < count; ++i) static_cast<A*>(acc)[i] = F::template init<Math, A>();
}

template <class F, class A, class T>
void row(void* acc, const void* data, const void* origin, int64_t count) {
  const T* x = static_cast<const T*>(data);
  A from = 0;
  if constexpr (kHasOrigin<F, A>) from = *static_cast<const A*>(origin);
  A& total = *static_cast<A*>(acc);
  if (count <= kShortRow) {
    A sum = F::template init<Math, A>();
    for (int64_t i = 0; i < count; ++i) sum = fold<F>(sum, static_cast<A>(x[i]), from);
    total = F::template merge<Math>(total, sum);
    return;
  }
  A lanes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = F::template init<Math, A>();
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = fold<F>(lanes[lane], static_cast<A>(x[i + lane]), from);
    }
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] = fold<F>(lanes[lane], static_cast<A>(x[i]), from);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      lanes[lane] = F::template merge<Math>(lanes[lane], lanes[lane + half]);
    }
  }
  total = F::template merge<Math>(total, lanes[0]);
}

template <class F, class A, class T>
void into(void* acc, const void* data, const void* origin, int64_t count) {
  A* total = static_cast<A*>(acc);
  const T* x = static_cast<const T*>(data);
  const A* from = static_cast<const A*>(origin);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    total[i] = fold<F>(total[i], static_cast<A>(x[i]), kHasOrigin<F, A> ? from[i] : A(0));
  }
}

template <class F, class A>
void merge(void* acc, const void* other, int64_t count) {
  A* total = static_cast<A*>(acc);
  const A* more = static_cast<const A*>(other);
  for (int64_t i = 0; i < count; ++i) total[i] = F::template merge<Math>(total[i], more[i]);
}

template <class T, class A, class... F>
constexpr ReduceLoops kLoops[] = {{init<F, A>, row<F, A, T>, into<F, A, T>, merge<F, A>}...};

template <class... F>
constexpr ReduceTable table_of(Functors<F...>) {
  return {kLoops<float, double, F...>, kLoops<double, double, F...>, kLoops<int64_t, int64_t, F...>};
}

}  // namespace

const ReduceTable& reduce_table() {
  static constexpr ReduceTable made = table_of(ReduceFunctors{});
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
