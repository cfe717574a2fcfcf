// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/contrib/contrib.h"
#include "ops/table.h"

// Questions about what a csr matrix stores. Of a dense one, what is not zero counts as stored.
namespace loomix::ops {
namespace {

void check_matrix(const ShapeInfer& s) { s.expect(0, s.in(0).ndim() == 2, "two axes"); }

}  // namespace

void register_contrib_stored(OpTable& table) {
  table.add<GetnnzParams>("_contrib_getnnz", {"data"})
      .doc("The number of elements that a csr matrix stores, as a whole or in each row or column.")
      .infer_shape([](const GetnnzParams& p, ShapeInfer& s) {
        check_matrix(s);
        if (!p.axis) return s.set_out(0, Shape{1});
        const int axis = normalize_axis(*p.axis, 2, s.who());
        if (s.in(0).ndim_known()) s.set_out(0, Shape{s.in(0)[1 - axis]});
      })
      .infer_type([](const GetnnzParams&, TypeInfer& t) { t.set_out(0, DType::int64); })
      .zero_gradient();
  table.add<NoParams>("_contrib_edge_id", {"data", "u", "v"})
      .doc("The stored element of a csr matrix in row u[i] and column v[i], or -1 where it stores none.")
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        check_matrix(s);
        s.tie({1, 2});
        LOOMIX_CHECK(!s.out(0).ndim_known() || s.out(0).ndim() == 1, ShapeError,
                     "[{}] u has shape {}; expected one axis.", s.who(), s.out(0).to_string());
      })
      .infer_type([](const NoParams&, TypeInfer& t) {
        t.tie({0});
        for (int i : {1, 2}) t.default_in(i);
      })
      .types(kNumericTypes)
      .zero_gradient();
}

}  // namespace loomix::ops
