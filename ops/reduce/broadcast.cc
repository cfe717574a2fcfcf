// SPDX-License-Identifier: Apache-2.0
#include "base/tuple_text.h"
#include "ops/reduce/reduce.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void sum_back(const AttrsBase&, GradBuilder& g) {
  g.set(0, g.call1("_broadcast_reduce_to_like", {g.grad_of(0), g.in(0)}));
}

void check_repeats(int64_t size, int64_t wanted, int axis, const ShapeInfer& s) {
  LOOMIX_CHECK(size == 1 || size < 0 || wanted < 0 || size == wanted, ShapeError,
               "[{}] axis {} of size {} cannot become {}; only size 1 is repeated.", s.who(), axis, size,
               wanted);
}

void axis_shape(const BroadcastAxisParams& p, ShapeInfer& s) {
  LOOMIX_CHECK(p.axis.ndim() == p.size.ndim(), ValueError,
               "[{}] {} axes and {} sizes are given; expected as many.", s.who(), p.axis.ndim(),
               p.size.ndim());
  if (!s.in(0).ndim_known()) return;
  Shape out = s.in(0);
  for (int i = 0; i < p.axis.ndim(); ++i) {
    const int axis = normalize_axis(p.axis[i], out.ndim(), s.who());
    LOOMIX_CHECK(s.in(0)[axis] == 1 || s.in(0)[axis] < 0, ShapeError,
                 "[{}] axis {} has size {}; only axes of size 1 can be broadcast.", s.who(), axis,
                 s.in(0)[axis]);
    out[axis] = p.size[i];
  }
  s.set_out(0, out);
}

void to_shape(const BroadcastToParams& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known()) return;
  LOOMIX_CHECK(in.ndim() == p.shape.ndim(), ShapeError,
               "[{}] data of shape {} cannot become {}; expected as many axes.", s.who(), in.to_string(),
               tuple_text(p.shape));
  Shape out = p.shape;
  for (int axis = 0; axis < in.ndim(); ++axis) {
    if (out[axis] == 0) out[axis] = in[axis];
    check_repeats(in[axis], out[axis], axis, s);
  }
  s.set_out(0, out);
}

void like_shape(const BroadcastLikeParams& p, ShapeInfer& s) {
  const Shape& lhs = s.in(0);
  const Shape& rhs = s.in(1);
  if (!lhs.ndim_known() || !rhs.ndim_known()) return;
  LOOMIX_CHECK(p.lhs_axes.has_value() == p.rhs_axes.has_value(), ValueError,
               "[{}] only one of lhs_axes and rhs_axes is given; expected both or none.", s.who());
  Shape out = lhs;
  if (!p.lhs_axes) {
    LOOMIX_CHECK(lhs.ndim() == rhs.ndim(), ShapeError,
                 "[{}] lhs of shape {} and rhs of shape {} have different axes.", s.who(), lhs.to_string(),
                 rhs.to_string());
    out = rhs;
    for (int axis = 0; axis < lhs.ndim(); ++axis) check_repeats(lhs[axis], rhs[axis], axis, s);
  } else {
    LOOMIX_CHECK(p.lhs_axes->ndim() == p.rhs_axes->ndim(), ValueError,
                 "[{}] lhs_axes {} and rhs_axes {} differ in length.", s.who(), tuple_text(*p.lhs_axes),
                 tuple_text(*p.rhs_axes));
    LOOMIX_CHECK(p.lhs_axes->ndim() > 0, ValueError,
                 "[{}] lhs_axes and rhs_axes are empty; expected at least one.", s.who());
    for (int i = 0; i < p.lhs_axes->ndim(); ++i) {
      const int to = normalize_axis((*p.lhs_axes)[i], lhs.ndim(), s.who());
      const int from = normalize_axis((*p.rhs_axes)[i], rhs.ndim(), s.who());
      check_repeats(lhs[to], rhs[from], to, s);
      out[to] = rhs[from];
    }
  }
  s.set_out(0, out);
}

}  // namespace

void register_broadcasts(OpTable& table) {
  table.add<BroadcastAxisParams>("broadcast_axis", {"data"})
      .doc("Repeats data along axes of size 1.")
      .aliases({"broadcast_axes"})
      .infer_shape(axis_shape)
      .gradient_by(sum_back);
  table.add<BroadcastToParams>("broadcast_to", {"data"})
      .doc("Repeats data along axes of size 1 to reach a shape.")
      .infer_shape(to_shape)
      .gradient_by(sum_back);
  table.add<BroadcastLikeParams>("broadcast_like", {"lhs", "rhs"})
      .doc("Repeats lhs along axes of size 1 to reach the shape of rhs.")
      .infer_shape(like_shape)
      .type_of(0)
      .shape_only(1)
      .gradient_by(sum_back);
  // (data, like): data summed over the axes in which like, aligned at the last axis, is smaller or lacking.
  table.add_hidden<NoParams>("_broadcast_reduce_to_like", {"data", "like"})
      .shape_of(1)
      .type_of(0)
      .inplace(0, 0)
      .identity(0, 0)  // where no axis differs
      .shape_only(1)
      .gradient_op("_broadcast_to_like", {head(0), input(0)});
  // The opposite.
  table.add_hidden<NoParams>("_broadcast_to_like", {"data", "like"})
      .shape_of(1)
      .type_of(0)
      .inplace(0, 0)
      .identity(0, 0)  // where no axis differs
      .shape_only(1)
      .gradient_by(sum_back);
}

}  // namespace loomix::ops
