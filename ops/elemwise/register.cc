// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/binary.h"
#include "ops/elemwise/elemwise.h"
#include "ops/elemwise/scalar.h"
#include "ops/elemwise/unary.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class F, Spread side, class P, class Gradient>
void mark_elementwise(OpTable& table, const ScalarOp<F, side, P, Gradient>& op) {
  table.refine<P>(op.name).elementwise();
}
template <class F, class Left, class Right>
void mark_elementwise(OpTable& table, const BinaryOp<F, Left, Right>& op) {
  table.refine<NoParams>(op.same).elementwise();
  if (*op.broadcast != 0) table.refine<NoParams>(op.broadcast).elementwise();
}

}  // namespace

// Traits that passes ask for. Second operands that leave the first one as it is; passes drop such operators.
void register_elemwise_traits(OpTable& table) {
  const auto scalar = [&](const char* name, double neutral) {
    table.refine<ScalarParams>(name).neutral(neutral).scalar([](const ScalarParams& p) { return p.scalar; });
  };
  for (const char* name : {"_plus_scalar", "_minus_scalar"}) scalar(name, 0);
  for (const char* name : {"_mul_scalar", "_div_scalar", "_power_scalar"}) scalar(name, 1);
  std::apply([&](const auto&... op) { (mark_elementwise(table, op), ...); }, kScalarOps);
  std::apply([&](const auto&... op) { (table.refine<NoParams>(op.name).elementwise(), ...); }, kUnaryOps);
  std::apply([&](const auto&... op) { (mark_elementwise(table, op), ...); }, kBinaryOps);
  table.refine<NoParams>("where").elementwise();
  table.refine<AddNParams>("add_n").elementwise();
  table.refine<HardSigmoidParams>("hard_sigmoid").elementwise();
  table.refine<CastParams>("Cast").elementwise();
  table.refine<AmpCastParams>("amp_cast").elementwise();
  table.refine<NoParams>("relu").clamp(
      [](const NoParams&) -> std::optional<Clamp> { return Clamp{.low = 0}; });
  table.refine<NoParams>("_backward_relu").gates();
  for (const std::string form : {"elemwise_", "broadcast_"}) {
    table.refine<NoParams>(form + "add").neutral(0).commutes();
    table.refine<NoParams>(form + "mul").neutral(1).commutes();
    table.refine<NoParams>(form + "sub").neutral(0);
    table.refine<NoParams>(form + "div").neutral(1);
  }
}

}  // namespace loomix::ops
