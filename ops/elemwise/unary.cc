// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/unary.h"

#include <array>

#include "ops/elemwise/elemwise.h"
#include "ops/elemwise/schema.h"
#include "ops/grad_expr.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class F, class Gradient>
void add_unary(OpTable& table, const UnaryOp<F, Gradient>& op) {
  auto builder = table.add<NoParams>(op.name, {"data"});
  builder.one_shape().inplace(0, 0).element_cost(op.element_ns);
  describe(builder, op.doc, std::array{op.alias});
  if constexpr (std::is_same_v<Gradient, ZeroGradient>) {
    builder.zero_gradient();
  } else if constexpr (is_rule<Gradient>) {
    builder.gradient_by([gradient = op.gradient](const AttrsBase&, GradBuilder& g) {
      g.set(0, gradient(GradExpr{g, g.grad_of(0)}, GradExpr{g, g.in(0)}, GradExpr{g, g.out(0)}));
    });
  }
}

}  // namespace

void register_unary(OpTable& table) {
  std::apply([&](const auto&... op) { (add_unary(table, op), ...); }, kUnaryOps);
}

}  // namespace loomix::ops
