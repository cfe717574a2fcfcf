// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/elemwise.h"
#include "ops/table.h"

namespace loomix::ops {

// Second operands that leave the first one as it is; passes drop such operators.
void register_neutral_operands(OpTable& table) {
  const auto scalar = [&](const char* name, double neutral) {
    table.refine<ScalarParams>(name).neutral(neutral).scalar([](const ScalarParams& p) { return p.scalar; });
  };
  for (const char* name : {"_plus_scalar", "_minus_scalar"}) scalar(name, 0);
  for (const char* name : {"_mul_scalar", "_div_scalar", "_power_scalar"}) scalar(name, 1);
  for (const std::string form : {"elemwise_", "broadcast_"}) {
    table.refine<NoParams>(form + "add").neutral(0).commutes();
    table.refine<NoParams>(form + "mul").neutral(1).commutes();
    table.refine<NoParams>(form + "sub").neutral(0);
    table.refine<NoParams>(form + "div").neutral(1);
  }
}

}  // namespace loomix::ops
