// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/cumsum.h"

#include "ops/table.h"

namespace loomix::ops {
namespace {

Shape sums_shape(const CumsumParams& p, const Shape& a, const char* who) {
  if (p.axis && a.ndim_known()) normalize_axis(*p.axis, a.ndim(), who);
  if (p.axis || !a.ndim_known()) return a;
  return a.is_known() ? Shape{a.size()} : Shape{kUnknownDim};
}

}  // namespace

void register_cumsum(OpTable& table) {
  table.add<CumsumParams>("_np_cumsum", {"a"})
      .doc("The sums of the elements up to each one, along an axis.")
      .aliases({"cumsum"})
      .infer_shape([](const CumsumParams& p, ShapeInfer& s) {
        s.set_out(0, sums_shape(p, s.in(0), s.who()));
        if (p.axis) s.set_in(0, s.out(0));
      })
      .infer_type([](const CumsumParams& p, TypeInfer& t) {
        if (p.dtype) return t.set_out(0, *p.dtype);
        t.unify_all();
      })
      .types(kNumericTypes)
      .element_cost(0.5)
      .gradient_op("_backward_np_cumsum", {head(0), input(0)});
  table.add_hidden<CumsumParams>("_backward_np_cumsum", {"grad", "a"})
      .shape_only(1)
      .infer_shape([](const CumsumParams& p, ShapeInfer& s) {
        s.tie({1});
        s.set_in(0, sums_shape(p, s.in(1), s.who()));
      })
      .infer_type([](const CumsumParams& p, TypeInfer& t) {
        t.tie({1});
        if (p.dtype) return t.set_in(0, *p.dtype);
        t.unify_all();
      })
      .types(kNumericTypes)
      .element_cost(0.5)
      .gradient_op("_np_cumsum", {head(0)});
}

}  // namespace loomix::ops
