// SPDX-License-Identifier: Apache-2.0
#include "ops/index/index.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void check_mask(const MaskParams& p, const Shape& data, const Shape& index, const char* who) {
  if (!data.ndim_known() || !index.ndim_known()) return;
  const int axis = normalize_axis(p.axis, data.ndim(), who);
  LOOMIX_CHECK(index.ndim() == 1 && (index[0] < 0 || data[axis] < 0 || index[0] == data[axis]), ShapeError,
               "[{}] index has shape {}; expected one entry for each of the {} along axis {} of data, {}.",
               who, index.to_string(), data[axis], axis, data.to_string());
}

void mask_type(const MaskParams&, TypeInfer& t) {
  t.set_out(0, t.in(0));
  t.set_in(0, t.out(0));
  if (t.in(1) == DType::unknown) t.set_in(1, DType::float32);
}

}  // namespace

void register_boolean_mask(OpTable& table) {
  table.add<MaskParams>("_contrib_boolean_mask")
      .doc(
          "Takes the slices of data along an axis for which `index` is not zero. How many these are is known "
          "when the "
          "values are, so the operator works on arrays only.")
      .inputs({"data", "index"})
      .output("output")
      .data_dependent()
      .infer_shape([](const MaskParams& p, ShapeInfer& s) { check_mask(p, s.in(0), s.in(1), s.who()); })
      .infer_type(mask_type)
      .gradient([](const MaskParams&, GradBuilder& g) {
        if (!g.wants(0)) return;
        const GradValue inputs[] = {g.grad_of(0), g.in(1), g.in(0)};
        g.set(0, g.call("_backward_contrib_boolean_mask", inputs, g.attrs())[0]);
      });
  table.add<MaskParams>("_backward_contrib_boolean_mask")
      .hidden()
      .inputs({"grad", "index", "like"})
      .output("output")
      .shape_only(2)
      .infer_shape([](const MaskParams& p, ShapeInfer& s) {
        s.set_out(0, s.in(2));
        check_mask(p, s.in(2), s.in(1), s.who());
      })
      .infer_type(mask_type)
      .gradient([](const MaskParams&, GradBuilder& g) {
        const GradValue inputs[] = {g.grad_of(0), g.in(1)};
        g.set(0, g.call("_contrib_boolean_mask", inputs, g.attrs())[0]);
      });
}

}  // namespace loomix::ops
