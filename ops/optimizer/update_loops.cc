// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/update_loops.h"

#include "ops/isa.h"

namespace loomix::ops {

namespace isa_base {
const update::UpdateLoops& update_loops();
}
#if LOOMIX_ISA_LEVELS > 1
namespace isa_v3 {
const update::UpdateLoops& update_loops();
}
namespace isa_v4 {
const update::UpdateLoops& update_loops();
}
#else
namespace isa_v3 = isa_base;
namespace isa_v4 = isa_base;
#endif

const update::UpdateLoops& update::update_loops() {
  static const UpdateLoops& chosen =
      pick_isa(isa_base::update_loops, isa_v3::update_loops, isa_v4::update_loops);
  return chosen;
}

}  // namespace loomix::ops
