// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/binary.h"

#include "ops/elemwise/elemwise.h"
#include "ops/elemwise/schema.h"
#include "ops/grad_expr.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using E = GradExpr;

void broadcast_shape(const NoParams&, ShapeInfer& s) {
  const Shape& a = s.in(0);
  const Shape& b = s.in(1);
  if (!a.ndim_known() || !b.ndim_known()) return;
  const int ndim = std::max(a.ndim(), b.ndim());
  Shape out = Shape::filled(ndim, kUnknownDim);
  for (int i = 1; i <= ndim; ++i) {
    const int64_t left = i <= a.ndim() ? a[a.ndim() - i] : 1;
    const int64_t right = i <= b.ndim() ? b[b.ndim() - i] : 1;
    LOOMIX_CHECK(
        left == right || left == 1 || right == 1 || left < 0 || right < 0, ShapeError,
        "[{}] the shapes {} and {} do not broadcast; each axis, counted from the last, must be equal or 1.",
        s.who(), a.to_string(), b.to_string());
    int64_t size = left == 1 ? right : left;
    if (left < 0 && right != 1) size = right;
    if (size < 0 || (left < 0 && right == 1)) size = kUnknownDim;
    out[ndim - i] = size;
  }
  s.set_out(0, out);
}

template <class Rule>
void set_gradient(GradBuilder& g, int i, const Rule& rule, bool broadcasts) {
  if constexpr (is_rule<Rule>) {
    if (!g.wants(i)) return;
    const E grad = rule(E{g, g.grad_of(0)}, E{g, g.in(0)}, E{g, g.in(1)}, E{g, g.out(0)});
    g.set(i, broadcasts ? grad.call("_broadcast_reduce_to_like", {g, g.in(i)}) : grad);
  }
}

// Those that scale their first operand by a function of the second one.
template <class F, class... Scaling>
constexpr bool is_one_of(Functors<Scaling...>) {
  return (std::is_same_v<F, Scaling> || ...);
}
using Scaling = Functors<fn::Mul, fn::BackwardRelu, fn::BackwardSigmoid, fn::BackwardTanh,
                         fn::BackwardSoftrelu, fn::BackwardSoftsign, fn::BackwardAbs, fn::BackwardSquare>;

template <class Op>
void add_one(OpTable& table, const char* name, const Aliases& aliases, const Op& op, bool broadcasts) {
  auto builder = table.add<NoParams>(name, {"lhs", "rhs"});
  builder.one_shape().inplace(0, 0).inplace(1, 0).element_cost(op.element_ns);
  if (broadcasts) builder.infer_shape(broadcast_shape);
  if (!broadcasts && is_one_of<typename Op::Functor>(Scaling{})) builder.scales();
  describe(builder, op.doc, aliases.names);
  if constexpr (is_rule<decltype(op.by_left)> || is_rule<decltype(op.by_right)>) {
    builder.gradient_by(
        [left = op.by_left, right = op.by_right, broadcasts](const AttrsBase&, GradBuilder& g) {
          set_gradient(g, 0, left, broadcasts);
          set_gradient(g, 1, right, broadcasts);
        });
  } else {
    builder.zero_gradient();
  }
}

}  // namespace

void register_binary(OpTable& table) {
  const auto add = [&](const auto& op) {
    add_one(table, op.same, op.same_aliases, op, false);
    if (*op.broadcast != 0) add_one(table, op.broadcast, op.broadcast_aliases, op, true);
  };
  std::apply([&](const auto&... op) { (add(op), ...); }, kBinaryOps);

  table.add<AddNParams>("add_n")
      .doc("Sum of all inputs.")
      .aliases({"ElementWiseSum", "_sparse_ElementWiseSum", "_sparse_add_n"})
      .variadic("args", "num_args", &AddNParams::num_args)
      .one_shape()
      .inplace(0, 0)
      .gradient([](const AddNParams& p, GradBuilder& g) {
        for (int i = 0; i < p.num_args; ++i) g.set(i, g.grad_of(0));
      });
}

}  // namespace loomix::ops
