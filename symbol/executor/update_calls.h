// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "symbol/executor/bulk.h"
#include "symbol/executor/run_node.h"

namespace loomix {

// The updates of a training step on one device, as one task. Where the device records work they are recorded at the third step whose
// calls are those of the step before, and launched as one piece from then on. Attributes, such as rates, and arrays, such as gradients,
// may change: what is recorded is renewed.
//
// Whoever makes the calls names an optimizer's step by begin() and end(). In between, calls of that thread are kept back, so it may
// look at no array that they write. From the first one on that cannot be recorded, all are pushed as usual.
class UpdateCalls final : private CallCollector {
 public:
  explicit UpdateCalls(Runtime& runtime) : runtime_(runtime) {}

  // `factor`: a number on the device, with which gradients are multiplied; see ops::StepFactor. Then all calls must be updates by kernels
  // of the device: others are errors.
  void begin(NDArray factor = {});
  void end();  // on the same thread; pushes what was called

 private:
  bool take(const Ref<OpCall>& call) override;
  void share_scratch();
  void push();

  Runtime& runtime_;
  std::vector<Ref<OpCall>> calls_;   // of this step
  std::vector<Ref<OpCall>> before_;  // of the last one
  Ref<Bulk> bulk_;                   // of these
  NDArray factor_, factor_before_;
  NDArray scratch_;  // of all calls; none: they need none
  CallCollector* outer_ = nullptr;
  bool is_closed_ = false;  // a call of this step was pushed as usual
};

}  // namespace loomix
