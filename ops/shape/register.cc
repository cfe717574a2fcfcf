// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/shape/shape.h"

namespace loomix::ops {

void register_shape(OpTable& table) {
  register_reshapes(table);
  register_slices(table);
  register_joins(table);
  register_moves(table);
}

}  // namespace loomix::ops
