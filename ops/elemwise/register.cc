// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"

namespace loomix::ops {

void register_elemwise(OpTable&) {}

}  // namespace loomix::ops
