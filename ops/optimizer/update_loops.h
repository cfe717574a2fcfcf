// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/optimizer/update_rules.h"

// The float32 loops of the common update rules, compiled once per instruction set.
namespace loomix::ops::update {

// Applies a rule, an object of the type that the loop is for, to elements [begin, end); out may be weight.
using UpdateLoop = void (*)(const void* rule, const float* weight, const float* grad, float* const* states,
                            float* out, int64_t begin, int64_t end);

struct UpdateLoops {
  UpdateLoop sgd, sgd_mom, nag, adam, adamw, rmsprop;
};

// Where a rule has its loop; null if it has none.
template <class Rule>
constexpr UpdateLoop UpdateLoops::*loop_of = nullptr;
template <>
constexpr inline UpdateLoop UpdateLoops::*loop_of<Sgd<float>> = &UpdateLoops::sgd;
template <>
constexpr inline UpdateLoop UpdateLoops::*loop_of<SgdMom<float>> = &UpdateLoops::sgd_mom;
template <>
constexpr inline UpdateLoop UpdateLoops::*loop_of<Nag<float>> = &UpdateLoops::nag;
template <>
constexpr inline UpdateLoop UpdateLoops::*loop_of<Adam<float>> = &UpdateLoops::adam;
template <>
constexpr inline UpdateLoop UpdateLoops::*loop_of<AdamW<float>> = &UpdateLoops::adamw;
template <>
constexpr inline UpdateLoop UpdateLoops::*loop_of<RmsProp<float>> = &UpdateLoops::rmsprop;

}  // namespace loomix::ops::update
