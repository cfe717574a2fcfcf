// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"

namespace loomix::ops {

void kernels_conv_dnnl(OpTable&) {}
void gradients_conv_dnnl(OpTable&) {}

}  // namespace loomix::ops
