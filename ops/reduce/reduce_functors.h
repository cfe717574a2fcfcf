// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "ops/elemwise/functors.h"

// What elements are folded with; reductions.h lists the operators made of these. `init` is the result of nothing, in the
// type of the zero that it is given, `fold` takes an element in the type of the accumulator, `merge` another accumulator.
// The first argument is as for elementwise functors.
namespace loomix::ops::fn {

struct Sum {
  static constexpr auto init(auto, auto zero) { return zero; }
  static constexpr auto fold(auto, auto acc, auto x) { return acc + x; }
  static constexpr auto merge(auto, auto acc, auto other) { return acc + other; }
};
struct Prod {
  static constexpr auto init(auto, auto zero) { return zero + 1; }
  static constexpr auto fold(auto, auto acc, auto x) { return acc * x; }
  static constexpr auto merge(auto, auto acc, auto other) { return acc * other; }
};
// NaN wins: no comparison replaces it.
struct Max {
  template <class A>
  static constexpr A init(auto, A) {
    if constexpr (Real<A>) return -std::numeric_limits<A>::infinity();
    else return std::numeric_limits<A>::min();
  }
  static constexpr auto fold(auto, auto acc, auto x) { return ((x > acc) | (x != x)) ? x : acc; }
  static constexpr auto merge(auto m, auto acc, auto other) { return fold(m, acc, other); }
};
struct Min {
  template <class A>
  static constexpr A init(auto, A) {
    if constexpr (Real<A>) return std::numeric_limits<A>::infinity();
    else return std::numeric_limits<A>::max();
  }
  static constexpr auto fold(auto, auto acc, auto x) { return ((x < acc) | (x != x)) ? x : acc; }
  static constexpr auto merge(auto m, auto acc, auto other) { return fold(m, acc, other); }
};
struct AbsSum : Sum {
  static constexpr auto fold(auto, auto acc, auto x) { return acc + (x < 0 ? -x : x); }
};
struct SquareSum : Sum {
  static constexpr auto fold(auto, auto acc, auto x) { return acc + x * x; }
};
struct NanSum : Sum {
  static constexpr auto fold(auto, auto acc, auto x) { return acc + (x == x ? x : 0); }
};
struct NanProd : Prod {
  static constexpr auto fold(auto, auto acc, auto x) { return acc * (x == x ? x : 1); }
};
// Each result has an origin of its own, which its elements are measured from.
struct SquareDistanceSum : Sum {
  static constexpr auto fold(auto, auto acc, auto x, auto origin) {
    return acc + (x - origin) * (x - origin);
  }
};

}  // namespace loomix::ops::fn
