// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/dot.h"

#include "base/error.h"
#include "ops/linear/bilinear.h"
#include "ops/shape/shape.h"
#include "ops/table.h"

namespace loomix::ops {

// Two or more leading axes that agree, then a matrix each.
Shape batch_dot_shape(const DotParams& p, const char* who, const Shape& lhs, const Shape& rhs) {
  if (!lhs.ndim_known() || !rhs.ndim_known()) return Shape::unknown();
  const int ndim = lhs.ndim();
  LOOMIX_CHECK(ndim >= 3 && rhs.ndim() == ndim, ShapeError,
               "[{}] got {} and {}; expected the same number of axes, three or more.", who, lhs.to_string(),
               rhs.to_string());
  Shape out = lhs;
  for (int axis = 0; axis < ndim - 2; ++axis) {
    LOOMIX_CHECK(lhs[axis] < 0 || rhs[axis] < 0 || lhs[axis] == rhs[axis], ShapeError,
                 "[{}] the batches of {} and {} differ; axis {} must agree.", who, lhs.to_string(),
                 rhs.to_string(), axis);
    if (out[axis] < 0) out[axis] = rhs[axis];
  }
  const int64_t left = lhs[p.transpose_a ? ndim - 2 : ndim - 1];
  const int64_t right = rhs[p.transpose_b ? ndim - 1 : ndim - 2];
  LOOMIX_CHECK(left < 0 || right < 0 || left == right, ShapeError,
               "[{}] {} and {} do not multiply: {} columns against {} rows.", who, lhs.to_string(),
               rhs.to_string(), left, right);
  if (left < 0 || right < 0) return Shape::unknown();  // as in MXNet
  out[ndim - 2] = lhs[p.transpose_a ? ndim - 1 : ndim - 2];
  out[ndim - 1] = rhs[p.transpose_b ? ndim - 2 : ndim - 1];
  return out;
}

namespace {

using Params = DotParams;
constexpr Bilinear kDot{"dot", "_backward_dot_lhs", "_backward_dot_rhs"};
constexpr Bilinear kBatchDot{"batch_dot", "_backward_batch_dot_lhs", "_backward_batch_dot_rhs"};

// What `lhs` and `rhs` give; unknown while something is missing.
Shape dot_shape(const Params& p, const char* who, const Shape& lhs, const Shape& rhs) {
  if (!lhs.ndim_known() || !rhs.ndim_known()) return Shape::unknown();
  LOOMIX_CHECK(lhs.ndim() >= 1 && rhs.ndim() >= 1, ShapeError,
               "[{}] got {} and {}; expected at least one axis each.", who, lhs.to_string(), rhs.to_string());
  const int left = p.transpose_a ? 0 : lhs.ndim() - 1;
  const int right = p.transpose_b ? rhs.ndim() - 1 : 0;
  LOOMIX_CHECK(lhs[left] < 0 || rhs[right] < 0 || lhs[left] == rhs[right], ShapeError,
               "[{}] axis {} of lhs {} has size {}, and axis {} of rhs {} size {}; expected the same, for "
               "they are summed over.",
               who, left, lhs.to_string(), lhs[left], right, rhs.to_string(), rhs[right]);
  Shape out = without_axis(lhs, left);
  for (const int64_t size : without_axis(rhs, right)) out.push_back(size);
  if (out.ndim() == 0) out.push_back(1);
  return out;
}

template <Shape (*shape)(const Params&, const char*, const Shape&, const Shape&)>
void relate(const Params& p, BilinearShapes& s) {
  s.set_out(shape(p, s.who(), s.a(), s.b()));
}

template <const Bilinear& ops, auto shape>
OpBuilder<Params> add_product(OpTable& table) {
  auto op = add_bilinear<Params, ops, relate<shape>>(table, "lhs", "rhs");
  op.accumulates();
  table.refine<Params>(ops.fa).accumulates();
  return op;
}

}  // namespace

void register_dot(OpTable& table) {
  add_product<kDot, dot_shape>(table)
      .aliases({"_sparse_dot"})
      .doc(
          "Sums products over the last axis of `lhs` and the first of `rhs`: the matrix product for "
          "matrices.");
  add_product<kBatchDot, batch_dot_shape>(table).doc("Matrix products of the items of two batches.");
}

}  // namespace loomix::ops
