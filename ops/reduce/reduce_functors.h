// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "ops/elemwise/functors.h"

// What elements are folded with; reductions.h lists the operators made of these. `init` is the result of nothing, `fold`
// takes an element in the type of the accumulator A, `merge` another accumulator. M is as for elementwise functors.
namespace loomix::ops::fn {

struct Sum {
  template <class M, class A>
  static constexpr A init() {
    return A(0);
  }
  template <class M, class A>
  static constexpr A fold(A acc, A x) {
    return acc + x;
  }
  template <class M, class A>
  static constexpr A merge(A acc, A other) {
    return acc + other;
  }
};
struct Prod {
  template <class M, class A>
  static constexpr A init() {
    return A(1);
  }
  template <class M, class A>
  static constexpr A fold(A acc, A x) {
    return acc * x;
  }
  template <class M, class A>
  static constexpr A merge(A acc, A other) {
    return acc * other;
  }
};
// NaN wins: no comparison replaces it.
struct Max {
  template <class M, class A>
  static constexpr A init() {
    if constexpr (Real<A>) return -std::numeric_limits<A>::infinity();
    else return std::numeric_limits<A>::min();
  }
  template <class M, class A>
  static constexpr A fold(A acc, A x) {
    return (x > acc) | (x != x) ? x : acc;
  }
  template <class M, class A>
  static constexpr A merge(A acc, A other) {
    return fold<M>(acc, other);
  }
};
struct Min {
  template <class M, class A>
  static constexpr A init() {
    if constexpr (Real<A>) return std::numeric_limits<A>::infinity();
    else return std::numeric_limits<A>::max();
  }
  template <class M, class A>
  static constexpr A fold(A acc, A x) {
    return (x < acc) | (x != x) ? x : acc;
  }
  template <class M, class A>
  static constexpr A merge(A acc, A other) {
    return fold<M>(acc, other);
  }
};
struct AbsSum : Sum {
  template <class M, class A>
  static constexpr A fold(A acc, A x) {
    return acc + (x < A(0) ? -x : x);
  }
};
struct SquareSum : Sum {
  template <class M, class A>
  static constexpr A fold(A acc, A x) {
    return acc + x * x;
  }
};
struct NanSum : Sum {
  template <class M, class A>
  static constexpr A fold(A acc, A x) {
    return acc + (x == x ? x : A(0));
  }
};
struct NanProd : Prod {
  template <class M, class A>
  static constexpr A fold(A acc, A x) {
    return acc * (x == x ? x : A(1));
  }
};
// Each result has an origin of its own, which its elements are measured from.
struct SquareDistanceSum : Sum {
  template <class M, class A>
  static constexpr A fold(A acc, A x, A origin) {
    return acc + (x - origin) * (x - origin);
  }
};

}  // namespace loomix::ops::fn
