// SPDX-License-Identifier: Apache-2.0
#include "ops/generated_code.h"

namespace loomix::ops {

void release_generated_code() {}

}  // namespace loomix::ops
