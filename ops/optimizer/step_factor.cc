// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/step_factor.h"

namespace loomix::ops {

const float*& StepFactor::own() noexcept {
  static thread_local const float* factor = nullptr;
  return factor;
}

}  // namespace loomix::ops
