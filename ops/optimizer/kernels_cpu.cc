// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"

namespace loomix::ops {

void kernels_single_update(OpTable& table);
void kernels_multi_update(OpTable& table);
void kernels_row_update(OpTable& table);

void kernels_optimizer_cpu(OpTable& table) {
  kernels_single_update(table);
  kernels_multi_update(table);
  kernels_row_update(table);
}

}  // namespace loomix::ops
