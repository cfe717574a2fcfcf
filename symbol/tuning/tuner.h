// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ndarray/tuned_choices.h"
#include "ops/kernel_choice.h"
#include "symbol/executor/runtime.h"

namespace loomix {

// Chooses what runs fastest of what computes the same: kernels of an operator, ways of a convolution in blocks. By what is known
// from measurements, else by the operators' rules; with `measures`, by measuring what is not known yet. For bound graphs on
// hosts. In deterministic mode the rules alone decide. Safe for several threads.
class Tuner {
 public:
  Tuner(TunedChoices& choices, bool measures) : choices_(choices), measures_(measures) {}

  // Like choose_kernel, for dense arrays.
  ops::KernelChoice kernel(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                           const ops::KernelSpec& spec) const;
  // The form of a node (ops::OpDef::blocked_form), given the one by the rules.
  ops::BlockedForm form(Runtime& runtime, const ops::OpDef& op, const AttrsBase& attrs,
                        const ops::KernelSpec& spec, ops::BlockedInputs is_blocked,
                        ops::BlockedForm by_rules) const;
  // Which way of running a whole pass, by its place in `names`; the first one where nothing is known. run_ns(way) runs a pass.
  size_t way_of_pass(Runtime& runtime, const std::string& pass, const std::vector<std::string>& names,
                     const std::function<double(size_t)>& run_ns) const;

 private:
  // Which of `names` is known to be the fastest, or measured now: try_out(i) gives a run of the one at place i.
  template <class TryOut>
  std::string fastest(Runtime& runtime, const std::string& question, const std::vector<std::string>& names,
                      TryOut&& try_out) const;

  TunedChoices& choices_;
  const bool measures_;
};

}  // namespace loomix
