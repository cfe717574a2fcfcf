// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/loops.h"

#include "ops/isa.h"

namespace loomix::ops {

namespace isa_base {
const ReduceTable& reduce_table();
}
#if LOOMIX_ISA_LEVELS > 1
namespace isa_v3 {
const ReduceTable& reduce_table();
}
namespace isa_v4 {
const ReduceTable& reduce_table();
}
#else
namespace isa_v3 = isa_base;
namespace isa_v4 = isa_base;
#endif

const ReduceLoops& reduce_loops(Reduction op, DType dtype) {
  static const ReduceTable& table =
      pick_isa(isa_base::reduce_table, isa_v3::reduce_table, isa_v4::reduce_table);
  const int i = static_cast<int>(op);
  if (dtype == DType::float32) return table.f32[i];
  return dtype == DType::int64 ? table.i64[i] : table.f64[i];
}

}  // namespace loomix::ops
