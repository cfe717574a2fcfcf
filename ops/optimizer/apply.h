// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/kernel.h"
#include "ops/limits.h"
#include "ops/optimizer/update_loops.h"

namespace loomix::ops::update {

// A rate or a norm that an array holds.
inline float scalar_at(const TensorView& view, int64_t i) {
  return dispatch_floating(view.dtype, "update", [&]<class T>(Type<T>) {
    return static_cast<float>(static_cast<Accum<T>>(view.as<T>()[i]));
  });
}

// Applies a rule to elements [begin, end). With `mixed` the weight is kept in `weight32`, which changes with it.
template <class Rule, class T, class S, bool mixed>
void update_range(const UpdateArrays& arrays, int64_t begin, int64_t end) {
  using A = Accum<T>;
  const Rule rule = *static_cast<const Rule*>(arrays.rule);  // a copy, which no store can change
  const T* const weight = static_cast<const T*>(arrays.weight);
  const T* const grad = static_cast<const T*>(arrays.grad);
  S* const s0 = static_cast<S*>(arrays.states[0]);
  S* const s1 = static_cast<S*>(arrays.states[1]);
  S* const s2 = static_cast<S*>(arrays.states[2]);
  float* const weight32 = arrays.weight32;
  T* const out = static_cast<T*>(arrays.out);
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    A s[3] = {};
    if constexpr (Rule::kStates > 0) s[0] = static_cast<A>(s0[i]);
    if constexpr (Rule::kStates > 1) s[1] = static_cast<A>(s1[i]);
    if constexpr (Rule::kStates > 2) s[2] = static_cast<A>(s2[i]);
    const A w = mixed ? static_cast<A>(weight32[i]) : static_cast<A>(weight[i]);
    const A next = rule(w, static_cast<A>(grad[i]), s);
    if constexpr (Rule::kStates > 0) s0[i] = static_cast<S>(s[0]);
    if constexpr (Rule::kStates > 1) s1[i] = static_cast<S>(s[1]);
    if constexpr (Rule::kStates > 2) s2[i] = static_cast<S>(s[2]);
    if constexpr (mixed) weight32[i] = static_cast<float>(next);
    out[i] = static_cast<T>(next);
  }
}

template <class Rule, class T>
UpdateLoop loop_for(bool mixed) {
  if (mixed) return update_range<Rule, T, float, true>;
  if constexpr (std::is_same_v<T, float> && loop_of<Rule> != nullptr)
    return best_loops<UpdateLoops>().*loop_of<Rule>;
  else return update_range<Rule, T, T, false>;
}

// Updates a whole weight. make(Type<A>) gives the rule that computes in A. The states have the weight's type, or
// float32 where a float32 copy of the weight is kept.
template <class Make>
void apply(Make&& make, const TensorView& weight, const TensorView& grad, std::span<const TensorView> states,
           const TensorView* weight32, const TensorView& out, engine::RunContext& context) {
  // Loops round the last elements of a range in their own way, so ranges end where the whole does, or at a block.
  constexpr int64_t kBlock = 64;
  UpdateArrays arrays{.weight = weight.data, .grad = grad.data, .out = out.data};
  if (weight32) arrays.weight32 = weight32->mutable_as<float>();
  for (size_t i = 0; i < states.size(); ++i) arrays.states[i] = states[i].data;
  const auto run = [&](UpdateLoop loop, const void* rule) {
    const int64_t size = weight.size();
    arrays.rule = rule;
    engine::parallel_for(
        context, (size + kBlock - 1) / kBlock, work_limits().update_elements / kBlock,
        [&](int64_t begin, int64_t end) { loop(arrays, begin * kBlock, std::min(end * kBlock, size)); });
  };
  dispatch_floating(weight.dtype, "update", [&]<class T>(Type<T>) {
    const auto rule = make(Type<Accum<T>>{});
    run(loop_for<std::remove_const_t<decltype(rule)>, T>(weight32 != nullptr), &rule);
  });
}

}  // namespace loomix::ops::update
