// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse/graph.h"
#include "ops/sparse/graph_sample.h"
#include "ops/sparse/sparse.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void cast_shape(const CastStorageParams& p, ShapeInfer& s) {
  s.unify_all();
  const Shape& shape = s.in(0);
  if (!shape.ndim_known() || p.stype == StorageType::dense) return;
  LOOMIX_CHECK(p.stype != StorageType::csr || shape.ndim() == 2, ShapeError,
               "[{}] data has shape {}; a csr array has two axes.", s.who(), shape.to_string());
  LOOMIX_CHECK(shape.ndim() >= 1, ShapeError, "[{}] data has shape (); a row_sparse array has an axis.",
               s.who());
}

void retain_shape(const NoParams&, ShapeInfer& s) {
  s.tie({0});
  s.expect(1, s.in(1).ndim() == 1, "one axis");
  s.expect(0, s.in(0).ndim() >= 1, "rows");
}

void typed_by_first(const NoParams&, TypeInfer& t) {
  t.tie({0});
  t.default_in(1, DType::int64);
}

}  // namespace

void register_sparse(OpTable& table) {
  table.add<CastStorageParams>("cast_storage", {"data"})
      .doc("The same values in another storage type: 'default', 'row_sparse' or 'csr'.")
      .aliases({"_sparse_cast_storage"})
      .infer_shape(cast_shape)
      .gradient_by(pass_gradient);
  table.add<NoParams>("_sparse_retain", {"data", "indices"})
      .doc("The rows of a row_sparse array whose numbers are in `indices`; all others are zero.")
      .infer_shape(retain_shape)
      .infer_type(typed_by_first)
      .input_types(1, kNumericTypes)
      .gradient_op("_sparse_retain", {head(0), input(1)});
}

}  // namespace loomix::ops
