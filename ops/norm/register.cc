// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/norm/norm.h"

namespace loomix::ops {

void register_norm(OpTable& table) {
  register_batch_norm(table);
  register_row_norm(table);
  register_l2_norm(table);
}

}  // namespace loomix::ops
