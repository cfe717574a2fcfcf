// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>

#include "ops/elemwise/unary_functors.h"

// The functions of Activation, a line each: the attribute's values, kernels and gradients are made of this list.
namespace loomix::ops {

enum class ActType : uint8_t {};  // a place in kActivations

enum class Kept : uint8_t { data, output };

template <class F>
struct ActivationKind {
  using Functor = F;
  const char* name;
  const char* backward;  // the operator that takes (gradient, kept value)
  Kept kept;             // by forward for the gradient
};

template <class F>
constexpr ActivationKind<F> activation(const char* name, const char* backward, Kept kept) {
  return {name, backward, kept};
}

inline constexpr std::tuple kActivations{
    activation<fn::Relu>("relu", "_backward_relu", Kept::output),
    activation<fn::Sigmoid>("sigmoid", "_backward_sigmoid", Kept::output),
    activation<fn::Softrelu>("softrelu", "_backward_softrelu", Kept::output),
    // The output has lost what a large input's gradient needs.
    activation<fn::Softsign>("softsign", "_backward_softsign", Kept::data),
    activation<fn::Tanh>("tanh", "_backward_tanh", Kept::output)};

}  // namespace loomix::ops
