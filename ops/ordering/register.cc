// SPDX-License-Identifier: Apache-2.0
#include "ops/ordering/ordering.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

Shape topk_shape(const TopkParams& p, const Shape& data, const char* who) {
  Shape shape = p.axis ? data : Shape{data.size()};
  const int axis = p.axis ? normalize_axis(*p.axis, data.ndim(), who) : 0;
  LOOMIX_CHECK(p.k <= shape[axis], ValueError, "[{}] k is {}, but the axis has {} elements.", who, p.k,
               shape[axis]);
  if (p.ret_typ == TopkReturn::mask) return data;
  if (p.k > 0) shape[axis] = p.k;
  return shape;
}

Shape order_shape(const std::optional<int>& axis, const Shape& data, const char* who) {
  if (!axis) return Shape{data.size()};
  normalize_axis(*axis, data.ndim(), who);
  return data;
}

void back(const std::optional<int>& axis, GradBuilder& g) {
  g.set(0, g.call1("_backward_order", {g.grad_of(0), g.out(1), g.in(0)},
                   {{"axis", axis ? std::to_string(*axis) : "None"}}));
}

}  // namespace

void register_ordering(OpTable& table) {
  table.add<SortParams>("sort", {"data"})
      .doc("Sorts along an axis; equal elements keep their order.")
      .outputs({"output0", "output1"})
      .num_visible_outputs([](const SortParams&) { return 1; })
      .infer_shape([](const SortParams& p, ShapeInfer& s) {
        if (!s.in(0).is_known()) return;
        for (int i : {0, 1}) s.set_out(i, order_shape(p.axis, s.in(0), s.who()));
      })
      .infer_type([](const SortParams&, TypeInfer& t) {
        t.tie({0});
        t.set_out(1, DType::int32);
      })
      .types(kNumericTypes)
      .gradient([](const SortParams& p, GradBuilder& g) { back(p.axis, g); });
  table.add<ArgsortParams>("argsort", {"data"})
      .doc("Gives the indices that would sort the input along an axis.")
      .infer_shape([](const ArgsortParams& p, ShapeInfer& s) {
        if (s.in(0).is_known()) s.set_out(0, order_shape(p.axis, s.in(0), s.who()));
      })
      .infer_type([](const ArgsortParams& p, TypeInfer& t) { t.set_out(0, p.dtype); })
      .types(kNumericTypes)
      .zero_gradient();
  table.add<TopkParams>("topk", {"data"})
      .doc("Chooses the k largest (or smallest) elements along an axis, best first.")
      .outputs({"output0", "output1"})
      .num_outputs([](const TopkParams& p) {
        return p.ret_typ == TopkReturn::indices || p.ret_typ == TopkReturn::mask ? 1 : 2;
      })
      .num_visible_outputs([](const TopkParams& p) { return p.ret_typ == TopkReturn::both ? 2 : 1; })
      .infer_shape([](const TopkParams& p, ShapeInfer& s) {
        if (!s.in(0).is_known()) return;
        for (int i = 0; i < s.num_out(); ++i) s.set_out(i, topk_shape(p, s.in(0), s.who()));
      })
      .infer_type([](const TopkParams& p, TypeInfer& t) {
        const bool values = t.num_out() == 2 || p.ret_typ == TopkReturn::mask;
        if (values) t.tie({0});
        if (!values || t.num_out() == 2) t.set_out(t.num_out() - 1, p.dtype);
      })
      .types(kNumericTypes)
      .gradient([](const TopkParams& p, GradBuilder& g) {
        if (p.ret_typ != TopkReturn::indices && p.ret_typ != TopkReturn::mask) back(p.axis, g);
      });
  table.add_hidden<SortParams>("_backward_order", {"grad", "indices", "like"})
      .shape_only(2)
      .shape_of(2)
      .infer_type([](const SortParams&, TypeInfer& t) { t.set_out(0, t.in(0)); })
      .types(kNumericTypes)
      .zero_gradient();
}

}  // namespace loomix::ops
