// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

// What the lists of elementwise operators (unary.h, binary.h, scalar.h) and others of their kind (reductions.h,
// activations.h, leaky_relus.h) are made of. Every instruction set and CUDA read them, so nothing here makes code of its own: derivatives are generic lambdas, which only the schemas call.
namespace loomix::ops {

// In place of a derivative.
struct ZeroGradient {};
inline constexpr ZeroGradient kZeroGradient;  // zero everywhere
struct NoGradient {};
inline constexpr NoGradient kNoGradient;  // not differentiable

struct Aliases {
  const char* names[4] = {};
};

// Functors in the order of their codes.
template <class... F>
struct Functors {
  static constexpr size_t count = sizeof...(F);
};

// The first place of the functor F in the list.
template <class F, class... G>
constexpr size_t place_of(Functors<G...>) {
  size_t i = 0;
  const bool found = ((std::is_same_v<F, G> || (++i, false)) || ...);
  static_assert((std::is_same_v<F, G> || ...), "the list has no operator of this functor");
  return found ? i : sizeof...(G);
}

template <class... F, class... G>
Functors<F..., G...> operator+(Functors<F...>, Functors<G...>);

template <class... Op>
Functors<typename Op::Functor...> functors_of(const std::tuple<Op...>&);

}  // namespace loomix::ops
