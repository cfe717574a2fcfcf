// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/loops.h"

#include "ops/isa.h"

namespace loomix::ops {

const ReduceLoops& reduce_loops(Reduction op, DType dtype) {
  const ReduceTable& table = best_loops<ReduceTable>();
  const int i = static_cast<int>(op);
  if (dtype == DType::float32) return table.f32[i];
  return dtype == DType::int64 ? table.i64[i] : table.f64[i];
}

}  // namespace loomix::ops
