// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/linalg/linalg.h"

namespace loomix::ops {

void register_linalg(OpTable& table) {
  register_linalg_products(table);
  register_linalg_factors(table);
  register_linalg_parts(table);
}

}  // namespace loomix::ops
