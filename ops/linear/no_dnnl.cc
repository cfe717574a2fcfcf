// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"

namespace loomix::ops {

void kernels_linear_dnnl(OpTable&) {}
void gradients_linear_dnnl(OpTable&) {}

}  // namespace loomix::ops
