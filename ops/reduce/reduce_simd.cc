// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <type_traits>

#include "ops/reduce/loops.h"

// Rows are summed in a fixed number of lanes, so that every instruction set gives the same bits.
namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int kLanes = 16;

// `fold` takes an element in the accumulator's type, `merge` another accumulator.
struct Sum {
  template <class A>
  static constexpr A init() {
    return A(0);
  }
  template <class A>
  static A fold(A acc, A x) {
    return acc + x;
  }
  template <class A>
  static A merge(A acc, A other) {
    return acc + other;
  }
};
struct Prod {
  template <class A>
  static constexpr A init() {
    return A(1);
  }
  template <class A>
  static A fold(A acc, A x) {
    return acc * x;
  }
  template <class A>
  static A merge(A acc, A other) {
    return acc * other;
  }
};
// NaN wins: no comparison replaces it.
struct Max {
  template <class A>
  static constexpr A init() {
    if constexpr (std::is_floating_point_v<A>) return -std::numeric_limits<A>::infinity();
    else return std::numeric_limits<A>::min();
  }
  template <class A>
  static A fold(A acc, A x) {
    return (x > acc) | (x != x) ? x : acc;
  }
  template <class A>
  static A merge(A acc, A other) {
    return fold(acc, other);
  }
};
struct Min {
  template <class A>
  static constexpr A init() {
    if constexpr (std::is_floating_point_v<A>) return std::numeric_limits<A>::infinity();
    else return std::numeric_limits<A>::max();
  }
  template <class A>
  static A fold(A acc, A x) {
    return (x < acc) | (x != x) ? x : acc;
  }
  template <class A>
  static A merge(A acc, A other) {
    return fold(acc, other);
  }
};
struct AbsSum : Sum {
  template <class A>
  static A fold(A acc, A x) {
    return acc + (x < A(0) ? -x : x);
  }
};
struct SquareSum : Sum {
  template <class A>
  static A fold(A acc, A x) {
    return acc + x * x;
  }
};
struct NanSum : Sum {
  template <class A>
  static A fold(A acc, A x) {
    return acc + (x == x ? x : A(0));
  }
};
struct NanProd : Prod {
  template <class A>
  static A fold(A acc, A x) {
    return acc * (x == x ? x : A(1));
  }
};

template <class F, class A>
void init(void* acc, int64_t count) {
  for (int64_t i = 0; i < count; ++i) static_cast<A*>(acc)[i] = F::template init<A>();
}

template <class F, class A, class T>
void row(void* acc, const void* data, int64_t count) {
  const T* x = static_cast<const T*>(data);
  A lanes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = F::template init<A>();
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = F::fold(lanes[lane], static_cast<A>(x[i + lane]));
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] = F::fold(lanes[lane], static_cast<A>(x[i]));
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] = F::merge(lanes[lane], lanes[lane + half]);
  }
  A& total = *static_cast<A*>(acc);
  total = F::merge(total, lanes[0]);
}

template <class F, class A, class T>
void into(void* acc, const void* data, int64_t count) {
  A* total = static_cast<A*>(acc);
  const T* x = static_cast<const T*>(data);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) total[i] = F::fold(total[i], static_cast<A>(x[i]));
}

template <class F, class A>
void merge(void* acc, const void* other, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    static_cast<A*>(acc)[i] = F::merge(static_cast<A*>(acc)[i], static_cast<const A*>(other)[i]);
  }
}

template <class F, class A, class T>
ReduceLoops loops() {
  return {init<F, A>, row<F, A, T>, into<F, A, T>, merge<F, A>};
}

template <class F>
void put(ReduceTable& table, Reduction op) {
  table.f32[static_cast<int>(op)] = loops<F, double, float>();
  table.f64[static_cast<int>(op)] = loops<F, double, double>();
  table.i64[static_cast<int>(op)] = loops<F, int64_t, int64_t>();
}

}  // namespace

const ReduceTable& reduce_table() {
  static const ReduceTable made = [] {
    ReduceTable t{};
    put<Sum>(t, Reduction::sum);
    put<Prod>(t, Reduction::prod);
    put<Max>(t, Reduction::max);
    put<Min>(t, Reduction::min);
    put<AbsSum>(t, Reduction::abs_sum);
    put<SquareSum>(t, Reduction::square_sum);
    put<NanSum>(t, Reduction::nansum);
    put<NanProd>(t, Reduction::nanprod);
    return t;
  }();
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
