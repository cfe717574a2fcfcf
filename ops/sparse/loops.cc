// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse/loops.h"

#include "ops/isa.h"

namespace loomix::ops {

namespace isa_base {
const SparseLoops& sparse_table();
}
#if LOOMIX_ISA_LEVELS > 1
namespace isa_v3 {
const SparseLoops& sparse_table();
}
namespace isa_v4 {
const SparseLoops& sparse_table();
}
#else
namespace isa_v3 = isa_base;
namespace isa_v4 = isa_base;
#endif

const SparseLoops& sparse_loops() {
  static const SparseLoops& chosen =
      pick_isa(isa_base::sparse_table, isa_v3::sparse_table, isa_v4::sparse_table);
  return chosen;
}

}  // namespace loomix::ops
