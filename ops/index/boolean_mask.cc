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
  t.tie({0});
  t.default_in(1);
}

}  // namespace

void register_boolean_mask(OpTable& table) {
  table.add<MaskParams>("_contrib_boolean_mask", {"data", "index"})
      .doc(
          "Takes the slices of data along an axis for which `index` is not zero. How many these are is known "
          "when the values are.")
      .data_dependent()
      .infer_shape([](const MaskParams& p, ShapeInfer& s) { check_mask(p, s.in(0), s.in(1), s.who()); })
      .infer_type(mask_type)
      .gradient_op("_backward_contrib_boolean_mask", {head(0), input(1), input(0)});
  table.add_hidden<MaskParams>("_backward_contrib_boolean_mask", {"grad", "index", "like"})
      .shape_only(2)
      .infer_shape([](const MaskParams& p, ShapeInfer& s) {
        s.set_out(0, s.in(2));
        check_mask(p, s.in(2), s.in(1), s.who());
      })
      .infer_type(mask_type)
      .gradient_op("_contrib_boolean_mask", {head(0), input(1)});
}

}  // namespace loomix::ops
