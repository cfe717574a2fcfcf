// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/optimizer/update_rules.h"

// The float32 loops of the common update rules, compiled once per instruction set.
namespace loomix::ops::update {

struct UpdateArrays {
  const void* rule = nullptr;  // an object of the type that the loop is for
  const void *weight, *grad;
  void* states[3] = {};
  float* weight32 = nullptr;  // where the weight is kept, or null
  void* out;                  // may be weight
};
// Applies the rule to elements [begin, end).
using UpdateLoop = void (*)(const UpdateArrays& arrays, int64_t begin, int64_t end);

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
