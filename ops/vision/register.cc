// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/vision/vision.h"

namespace loomix::ops {

void register_vision(OpTable& table) {
  register_upsampling(table);
  register_resample(table);
  register_sampler(table);
  register_unfold(table);
  register_correlation(table);
}

}  // namespace loomix::ops
