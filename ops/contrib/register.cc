// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/contrib.h"
#include "ops/families.h"

namespace loomix::ops {

void register_contrib(OpTable& table) {
  register_contrib_elementwise(table);
  register_contrib_index(table);
  register_contrib_transforms(table);
  register_contrib_stored(table);
  register_hawkes(table);
}

}  // namespace loomix::ops
