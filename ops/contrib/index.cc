// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/contrib.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void index_copy_shape(const NoParams&, ShapeInfer& s) {
  s.tie({0});
  s.expect(0, s.in(0).ndim() != 0, "at least one axis");
  s.set_in(1, Shape{kUnknownDim});
  if (!s.in(0).ndim_known()) return;
  Shape rows = s.in(0);
  rows[0] = s.in(1)[0];
  s.set_in(2, rows);
  s.set_in(1, Shape{s.in(2)[0]});
}

void index_copy_type(const NoParams&, TypeInfer& t) {
  t.tie({0, 2});
  t.default_in(1, DType::int64);
}

}  // namespace

void register_contrib_index(OpTable& table) {
  table.add<IndexArrayParams>("_contrib_index_array", {"data"})
      .doc("The index of each element of the data, or its parts along some axes, in a new last axis.")
      .shape_only(0)
      .infer_shape([](const IndexArrayParams& p, ShapeInfer& s) {
        const Shape& data = s.in(0);
        if (!data.ndim_known()) return;
        if (p.axes) {
          for (const int64_t axis : *p.axes) normalize_axis(axis, data.ndim(), s.who());
        }
        Shape out = data;
        out.push_back(p.axes ? p.axes->ndim() : data.ndim());
        s.set_out(0, out);
      })
      .infer_type([](const IndexArrayParams&, TypeInfer& t) {
        t.default_in(0);
        t.set_out(0, DType::int64);
      })
      .zero_gradient();
  table.add<NoParams>("_contrib_index_copy", {"old_tensor", "index_vector", "new_tensor"})
      .doc("The old tensor with the rows that `index_vector` names replaced by those of the new tensor.")
      .infer_shape(index_copy_shape)
      .infer_type(index_copy_type)
      .input_types(1, kNumericTypes)
      .inplace(0, 0)
      .gradient([](const NoParams&, GradBuilder& g) {
        const GradValue head = g.grad_of(0), rows = g.in(1);
        if (g.wants(0)) {
          const GradValue zeros = g.call1("zeros_like", {g.in(2)});
          g.set(0, g.call1("_contrib_index_copy", {head, rows, zeros}));
        }
        if (g.wants(2)) g.set(2, g.call1("take", {head, rows}));
      });
  table.add<NoParams>("fill_element_0index", {"lhs", "mhs", "rhs"})
      .doc(
          "Copies the matrix `lhs` and sets element rhs[i] of row i to mhs[i]; an index outside leaves its "
          "row.")
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        s.tie({0});
        const Shape& matrix = s.in(0);
        if (!s.has_axes(0, 2, "two axes")) return;
        for (int i : {1, 2}) s.set_in(i, Shape{matrix[0]});
      })
      .infer_type([](const NoParams&, TypeInfer& t) {
        t.tie({0, 1});
        t.default_in(2);
      })
      .input_types(2, kNumericTypes)
      .inplace(0, 0)
      .no_symbol();
}

}  // namespace loomix::ops
