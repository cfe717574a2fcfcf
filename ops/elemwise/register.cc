// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/elemwise.h"
#include "ops/elemwise/unary.h"
#include "ops/table.h"

namespace loomix::ops {

// Traits that passes ask for. Second operands that leave the first one as it is; passes drop such operators.
void register_elemwise_traits(OpTable& table) {
  const auto scalar = [&](const char* name, double neutral) {
    table.refine<ScalarParams>(name).neutral(neutral).scalar([](const ScalarParams& p) { return p.scalar; });
  };
  for (const char* name : {"_plus_scalar", "_minus_scalar"}) scalar(name, 0);
  for (const char* name : {"_mul_scalar", "_div_scalar", "_power_scalar"}) scalar(name, 1);
  for (const char* name : {"_plus_scalar", "_minus_scalar", "_mul_scalar", "_div_scalar", "_power_scalar"})
    table.refine<ScalarParams>(name).elementwise();
  std::apply([&](const auto&... op) { (table.refine<NoParams>(op.name).elementwise(), ...); }, kUnaryOps);
  table.refine<NoParams>("relu").is_relu([](const NoParams&) { return true; });
  for (const std::string form : {"elemwise_", "broadcast_"}) {
    for (const char* name : {"add", "sub", "mul", "div", "maximum", "minimum"}) {
      if (table.find(form + name)) table.refine<NoParams>(form + name).elementwise();
    }
    table.refine<NoParams>(form + "add").neutral(0).commutes();
    table.refine<NoParams>(form + "mul").neutral(1).commutes();
    table.refine<NoParams>(form + "sub").neutral(0);
    table.refine<NoParams>(form + "div").neutral(1);
  }
}

}  // namespace loomix::ops
