// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/elemwise.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// The condition has the shape of x, or one element a row of it. While it is not known nothing follows, as in MXNet.
void where_shape(const NoParams&, ShapeInfer& s) {
  if (!s.in(0).is_known()) return;
  s.tie({1, 2});
  const Shape& x = s.in(1);
  const Shape& condition = s.in(0);
  if (!x.ndim_known() || !condition.ndim_known()) return;
  if (condition.ndim() == 1 && x.ndim() > 1) {
    s.set_in(0, Shape{x[0]});
    return;
  }
  s.unify_all();
}

}  // namespace

void register_select(OpTable& table) {
  table.add<NoParams>("where", {"condition", "x", "y"})
      .doc("Elements of x where condition is not zero, else of y.")
      .aliases({"_sparse_where"})
      .infer_shape(where_shape)
      .infer_type([](const NoParams&, TypeInfer& t) {
        t.tie({1, 2});
      })
      .inplace(1, 0)
      .inplace(2, 0)
      .gradient([](const NoParams&, GradBuilder& g) {
        const GradValue grad = g.grad_of(0);
        const GradValue zeros = g.call1("zeros_like", {grad});
        if (g.wants(1)) g.set(1, g.call1("where", {g.in(0), grad, zeros}));
        if (g.wants(2)) g.set(2, g.call1("where", {g.in(0), zeros, grad}));
      });
}

}  // namespace loomix::ops
