// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/kernel.h"
#include "ops/optimizer/update_loops.h"

namespace loomix::ops::update {

// A rate or a norm that an array holds.
inline float scalar_at(const TensorView& view, int64_t i) {
  return dispatch_floating(view.dtype, "update", [&]<class T>(Type<T>) {
    return static_cast<float>(static_cast<Accum<T>>(view.as<T>()[i]));
  });
}

// Applies the rule to elements [begin, end). With `mixed` the weight is kept in `weight32`, which changes with it.
template <bool mixed, class Rule, class T, class S>
void apply_range(const Rule& given, const T* weight, const T* grad, S* s0, S* s1, S* s2, float* weight32,
                 T* out, int64_t begin, int64_t end) {
  using A = Accum<T>;
  const Rule rule = given;  // a copy, which no store can change
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

// Updates a whole weight. make(Type<A>) gives the rule that computes in A. The states have the weight's type, or
// float32 where a float32 copy of the weight is kept.
template <class Make>
void apply(Make&& make, const TensorView& weight, const TensorView& grad, std::span<const TensorView> states,
           const TensorView* weight32, const TensorView& out, engine::RunContext& context) {
  // Loops round the last elements of a range in their own way, so ranges end where the whole does, or at a block.
  constexpr int64_t kBlock = 64;
  constexpr int64_t kGrain = 16384 / kBlock;
  const auto in_ranges = [&](auto&& loop) {
    const int64_t size = weight.size();
    engine::parallel_for(context, (size + kBlock - 1) / kBlock, kGrain, [&](int64_t begin, int64_t end) {
      loop(begin * kBlock, std::min(end * kBlock, size));
    });
  };
  void* state[3] = {};
  for (size_t i = 0; i < states.size(); ++i) state[i] = states[i].data;
  dispatch_floating(weight.dtype, "update", [&]<class T>(Type<T>) {
    const auto rule = make(Type<Accum<T>>{});
    const T* w = weight.as<T>();
    const T* g = grad.as<T>();
    T* to = out.mutable_as<T>();
    using Rule = std::remove_const_t<decltype(rule)>;
    if constexpr (std::is_same_v<T, float> && loop_of<Rule> != nullptr) {
      if (weight32 == nullptr) {
        float* const floats[3] = {static_cast<float*>(state[0]), static_cast<float*>(state[1]),
                                  static_cast<float*>(state[2])};
        const UpdateLoop loop = best_loops<UpdateLoops>().*loop_of<Rule>;
        in_ranges([&](int64_t begin, int64_t end) { loop(&rule, w, g, floats, to, begin, end); });
        return;
      }
    }
    const auto run = [&]<class S, bool mixed>(Type<S>, std::bool_constant<mixed>) {
      float* copy = mixed ? weight32->mutable_as<float>() : nullptr;
      in_ranges([&](int64_t begin, int64_t end) {
        apply_range<mixed>(rule, w, g, static_cast<S*>(state[0]), static_cast<S*>(state[1]),
                           static_cast<S*>(state[2]), copy, to, begin, end);
      });
    };
    if (weight32) run(Type<float>{}, std::true_type{});
    else run(Type<T>{}, std::false_type{});
  });
}

}  // namespace loomix::ops::update
