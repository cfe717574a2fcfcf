// SPDX-License-Identifier: Apache-2.0
#include "io/image/row_loops.h"

#include "ops/isa.h"

namespace loomix::io {

namespace isa_base {
const RowLoops& row_loops();
}
#if LOOMIX_ISA_LEVELS > 1
namespace isa_v3 {
const RowLoops& row_loops();
}
namespace isa_v4 {
const RowLoops& row_loops();
}
#else
namespace isa_v3 = isa_base;
namespace isa_v4 = isa_base;
#endif

const RowLoops& row_loops() {
  static const RowLoops& chosen = ops::pick_isa(isa_base::row_loops, isa_v3::row_loops, isa_v4::row_loops);
  return chosen;
}

}  // namespace loomix::io
