// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/loss/loss.h"

namespace loomix::ops {

void register_loss(OpTable& table) {
  register_softmax_output(table);
  register_regression_output(table);
}

}  // namespace loomix::ops
