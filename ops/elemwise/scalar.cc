// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/scalar.h"

#include <array>

#include "ops/elemwise/elemwise.h"
#include "ops/elemwise/schema.h"
#include "ops/grad_expr.h"
#include "ops/table.h"

namespace loomix::ops {

void type_with_number(const ScalarParams& p, TypeInfer& t) {
  if (t.in(0) != DType::unknown && !p.is_int && !is_floating(t.in(0))) t.set_out(0, DType::float64);
  else if (t.in(0) == DType::boolean) t.set_out(0, DType::int64);
  else t.unify_all();
}

namespace {

using E = GradExpr;

template <class P>
OpBuilder<P> add_op(OpTable& table, const char* name, const char* doc, const char* alias = "") {
  auto builder = table.add<P>(name, {"data"});
  builder.one_shape().inplace(0, 0);
  describe(builder, doc, std::array{alias});
  return builder;
}

template <class F, Spread side, class P, class Gradient>
void add_scalar(OpTable& table, const ScalarOp<F, side, P, Gradient>& op) {
  auto builder = add_op<P>(table, op.name, op.doc, op.alias);
  if constexpr (std::is_same_v<P, ScalarParams>) builder.infer_type(type_with_number);
  builder.element_cost(op.element_ns);
  if constexpr (std::is_same_v<Gradient, ZeroGradient>) {
    builder.zero_gradient();
  } else {
    builder.gradient_by([gradient = op.gradient](const AttrsBase& attrs, GradBuilder& g) {
      const double scalar = attrs.as<P>().scalar;
      g.set(0, gradient(E{g, g.grad_of(0)}, E{g, g.in(0)}, E{g, g.out(0)}, scalar));
    });
  }
}

}  // namespace

void register_scalar(OpTable& table) {
  std::apply([&](const auto&... op) { (add_scalar(table, op), ...); }, kScalarOps);
  add_op<ClipParams>(table, "clip", "Limits the elements to [a_min, a_max].", "_sparse_clip")
      .elementwise()
      .clamp([](const ClipParams& p) -> std::optional<Clamp> {
        return Clamp{p.a_min, p.a_max};
      })
      .gradient([](const ClipParams& p, GradBuilder& g) {
        const E x{g, g.in(0)};
        const E outside = x.call("_lesser_scalar", p.a_min) + x.call("_greater_scalar", p.a_max);
        const E inside = outside.call("logical_not");  // so is NaN
        g.set(0, g.call1("_backward_relu", {g.grad_of(0), inside}));
      });
  add_op<HardSigmoidParams>(table, "hard_sigmoid", "min(max(alpha x + beta, 0), 1).")
      .types(kFloatingTypes)
      .gradient([](const HardSigmoidParams& p, GradBuilder& g) {
        const E y{g, g.out(0)};
        const E inside = y.call("_greater_scalar", 0) * y.call("_lesser_scalar", 1);
        g.set(0, E{g, g.grad_of(0)} * inside * p.alpha);
      });
}

}  // namespace loomix::ops
