// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/contrib/contrib.h"
#include "ops/grad_expr.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class P>
OpBuilder<P> add_unary(OpTable& table, const char* name, const char* doc) {
  auto op = table.add<P>(name, {"data"}).doc(doc);
  op.one_shape().inplace(0, 0);
  return op;
}

// The moving mean has one element a column.
void columns_shape(ShapeInfer& s, const Shape& data, int mean) {
  LOOMIX_CHECK(!data.ndim_known() || data.ndim() >= 2, ShapeError,
               "[{}] data has shape {}; expected two axes or more, the first one counting samples.", s.who(),
               data.to_string());
  if (data.is_known()) s.set_in(mean, Shape{data.size_between(1, data.ndim())});
}

// What MXNet computes for the stored elements of sparse arrays only; of dense arrays, all are stored.
void register_scatter_forms(OpTable& table) {
  const auto with_scalar = [&](const char* name, const char* doc) {
    add_unary<ScalarParams>(table, name, doc).infer_type(type_with_number).gradient_by(pass_gradient);
  };
  with_scalar("_scatter_plus_scalar", "data + scalar, for the stored elements of sparse data.");
  with_scalar("_scatter_minus_scalar", "data - scalar, for the stored elements of sparse data.");
  table.add<NoParams>("_scatter_elemwise_div", {"lhs", "rhs"})
      .doc("lhs / rhs, for the stored elements of a sparse lhs.")
      .one_shape()
      .inplace(0, 0)
      .gradient([](const NoParams&, GradBuilder& g) {
        const GradExpr head{g, g.grad_of(0)}, rhs{g, g.in(1)};
        if (g.wants(0)) g.set(0, head / rhs);
        if (g.wants(1)) g.set(1, -(head * GradExpr{g, g.out(0)} / rhs));
      });
}

void register_sparsity(OpTable& table) {
  table.add<SparsityParams>("IdentityAttachKLSparseReg", {"data"})
      .doc(
          "The data as they are; their gradient gets that of a penalty on mean activations that differ from "
          "`sparseness_target`.")
      .state("moving_avg")
      .infer_shape([](const SparsityParams&, ShapeInfer& s) {
        s.tie({0});
        columns_shape(s, s.in(0), 1);
      })
      .types(kFloatingTypes)
      .inplace(0, 0)
      .identity(0, 0)
      .first_value([](const SparsityParams&, int input) { return input == 1 ? R"(["zero", {}])" : nullptr; })
      .gradient_op("_backward_IdentityAttachKLSparseReg", {head(0), input(0), input(1)});
  table.add_hidden<SparsityParams>("_backward_IdentityAttachKLSparseReg", {"grad", "data"})
      .state("moving_avg")
      .infer_shape([](const SparsityParams&, ShapeInfer& s) {
        s.tie({0, 1});
        columns_shape(s, s.in(0), 2);
      })
      .types(kFloatingTypes);
}

}  // namespace

void register_contrib_elementwise(OpTable& table) {
  add_unary<QuadraticParams>(table, "_contrib_quadratic", "a data^2 + b data + c.")
      .types(kNumericTypes)
      .gradient([](const QuadraticParams& p, GradBuilder& g) {
        g.set(0, GradExpr{g, g.grad_of(0)} * (GradExpr{g, g.in(0)} * (2.0 * p.a) + p.b));
      });
  add_unary<NoParams>(table, "_contrib_div_sqrt_dim",
                      "The data over the square root of the size of the last axis.")
      .types(kFloatingTypes)
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        s.unify_all();
        s.expect(0, s.in(0).ndim() != 0, "at least one axis");
      })
      .gradient_op("_contrib_div_sqrt_dim", {head(0)});
  add_unary<ScalarParams>(table, "_contrib_gradientmultiplier",
                          "The data as they are; their gradient is multiplied by `scalar`.")
      .identity(0, 0)
      .gradient([](const ScalarParams& p, GradBuilder& g) {
        g.set(0, GradExpr{g, g.grad_of(0)} * p.scalar);
      });
  const auto straight_through = [&](const char* name, const char* alias, const char* doc) {
    add_unary<NoParams>(table, name, doc).aliases({alias}).gradient_by(pass_gradient);
  };
  straight_through(
      "_contrib_round_ste", "_sparse__contrib_round_ste",
      "Rounds to the nearest integer; the gradient passes as it is (straight-through estimator).");
  straight_through("_contrib_sign_ste", "_sparse__contrib_sign_ste",
                   "The sign of each element; the gradient passes as it is (straight-through estimator).");
  register_scatter_forms(table);
  table.add<AllcloseParams>("_contrib_allclose", {"a", "b"})
      .doc("1 if all elements of two arrays are equal within tolerances, else 0.")
      .infer_shape([](const AllcloseParams&, ShapeInfer& s) {
        s.tie({0, 1}, {});
        s.set_out(0, Shape());
      })
      .infer_type([](const AllcloseParams&, TypeInfer& t) {
        t.tie({0, 1}, {});
        t.set_out(0, DType::uint8);
      })
      .zero_gradient();
  register_sparsity(table);
}

}  // namespace loomix::ops
