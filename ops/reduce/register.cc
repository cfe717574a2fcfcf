// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/reduce/cumsum.h"
#include "ops/reduce/reduce.h"

namespace loomix::ops {

void register_reduce(OpTable& table) {
  register_reductions(table);
  register_broadcasts(table);
  register_histogram(table);
  register_cumsum(table);
}

}  // namespace loomix::ops
