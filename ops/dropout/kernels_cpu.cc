// SPDX-License-Identifier: Apache-2.0
#include "ops/dropout/dropout.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_dropout_cpu(OpTable& table) {
  table.kernel<DropoutParams, dropout_cpu>("Dropout", "dropout_cpu", DeviceType::cpu);
  table.kernel<DropoutParams, dropout_backward_cpu>("_backward_Dropout", "dropout_backward_cpu",
                                                    DeviceType::cpu);
}

}  // namespace loomix::ops
