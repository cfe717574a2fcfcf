// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/elemwise.h"
#include "ops/families.h"

namespace loomix::ops {

void register_elemwise(OpTable& table) {
  register_unary(table);
  register_binary(table);
  register_scalar(table);
  register_cast(table);
  register_select(table);
}

}  // namespace loomix::ops
