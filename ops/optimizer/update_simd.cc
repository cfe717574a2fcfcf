// SPDX-License-Identifier: Apache-2.0
#include "ops/isa.h"
#include "ops/optimizer/update_loops.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

template <class Rule>
void run(const update::UpdateArrays& arrays, int64_t begin, int64_t end) {
  const Rule rule = *static_cast<const Rule*>(arrays.rule);  // a copy, which no store can change
  const float* const weight = static_cast<const float*>(arrays.weight);
  const float* const grad = static_cast<const float*>(arrays.grad);
  float* const s0 = static_cast<float*>(arrays.states[0]);
  float* const s1 = static_cast<float*>(arrays.states[1]);
  float* const out = static_cast<float*>(arrays.out);
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    float s[2] = {};
    if constexpr (Rule::kStates > 0) s[0] = s0[i];
    if constexpr (Rule::kStates > 1) s[1] = s1[i];
    const float next = rule(weight[i], grad[i], s);
    if constexpr (Rule::kStates > 0) s0[i] = s[0];
    if constexpr (Rule::kStates > 1) s1[i] = s[1];
    out[i] = next;
  }
}

}  // namespace

template <>
const update::UpdateLoops& compiled_loops() {
  using namespace update;
  static constexpr UpdateLoops loops = {run<Sgd<float>>,  run<SgdMom<float>>, run<Nag<float>>,
                                        run<Adam<float>>, run<AdamW<float>>,  run<RmsProp<float>>};
  return loops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
