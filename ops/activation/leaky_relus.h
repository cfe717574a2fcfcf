// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "ops/activation/leaky_relu_functors.h"
#include "ops/elemwise/op_list.h"

// The functions of LeakyReLU, a line each: the attribute's values, rules and loops of every instruction set are made of this
// list.
namespace loomix::ops {

enum class LeakyType : uint8_t {};  // a place in kLeakyRelus

// Where slopes come from: the attribute, the input gamma (one, or one a channel), or a random number an element.
enum class Slopes : uint8_t { attribute, gamma, random };

template <class F>
struct LeakyKind {
  using Functor = F;
  std::string_view name;
  Slopes slopes;
};

template <class F>
constexpr LeakyKind<F> leaky_relu(std::string_view name, Slopes slopes = Slopes::attribute) {
  return {name, slopes};
}

inline constexpr std::tuple kLeakyRelus{leaky_relu<fn::Elu>("elu"),
                                        leaky_relu<fn::Gelu>("gelu"),
                                        leaky_relu<fn::Leaky>("leaky"),
                                        leaky_relu<fn::Leaky>("prelu", Slopes::gamma),
                                        leaky_relu<fn::Leaky>("rrelu", Slopes::random),
                                        leaky_relu<fn::Selu>("selu")};

using LeakyFunctors = decltype(functors_of(kLeakyRelus));

constexpr LeakyType leaky_type(std::string_view name) {
  size_t place = 0;
  std::apply(
      [&](const auto&... kind) { static_cast<void>(((kind.name == name || (++place, false)) || ...)); },
      kLeakyRelus);
  return static_cast<LeakyType>(place);
}

constexpr Slopes slopes_of(LeakyType type) {
  return std::apply(
      [&](const auto&... kind) {
        const Slopes all[] = {kind.slopes...};
        return all[static_cast<size_t>(type)];
      },
      kLeakyRelus);
}

}  // namespace loomix::ops
