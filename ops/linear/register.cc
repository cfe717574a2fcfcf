// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/linear/linear.h"

namespace loomix::ops {

void register_linear(OpTable& table) {
  register_fully_connected(table);
  register_dot(table);
}

}  // namespace loomix::ops
