// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "ops/linalg/matrix_grad.h"
#include "ops/linalg/shapes.h"

// Diagonals and triangles of matrices, and linear maps that gradients use.
namespace loomix::ops {
namespace {

// The length of a diagonal: n less its distance from the main one.
int64_t diagonal_length(const ShapeInfer& s, const Shape& a, int64_t n, int offset) {
  if (n < 0) return kUnknownDim;
  const int64_t length = n - std::abs(int64_t{offset});
  LOOMIX_CHECK(length > 0 || (n == 0 && offset == 0), ValueError,
               "[{}] offset {} is outside of the matrices of shape {}; expected {} to {}.", s.who(), offset,
               a.to_string(), 1 - n, n - 1);
  return length;
}

// Elements of the triangle whose longest diagonal has `length` elements.
int64_t triangle_size(int64_t length) { return length < 0 ? kUnknownDim : length * (length + 1) / 2; }

int64_t triangle_length(const ShapeInfer& s, const Shape& packed) {
  const int64_t size = packed[packed.ndim() - 1];
  if (size < 0) return kUnknownDim;
  int64_t length = 0;
  while (triangle_size(length) < size) ++length;
  LOOMIX_CHECK(triangle_size(length) == size, ShapeError,
               "[{}] A has shape {}; its last size fills no triangle, which holds 1, 3, 6, 10 ... elements.",
               s.who(), packed.to_string());
  return length;
}

void check_vectors(const ShapeInfer& s, const Shape& shape) {
  LOOMIX_CHECK(shape.ndim() != 0, ShapeError, "[{}] A has shape (); expected at least one axis.", s.who());
}

Shape with_vector(const Shape& matrices, int64_t size) {
  Shape out = matrices;
  out.resize(matrices.ndim() - 1);
  out[out.ndim() - 1] = size;
  return out;
}

Shape with_matrix(const Shape& vectors, int64_t n) {
  Shape out = vectors;
  out[out.ndim() - 1] = n;
  out.push_back(n);
  return out;
}

template <class P, int64_t (*count)(int64_t)>
void extract_shape(const P& p, ShapeInfer& s) {
  const Shape a = square(s, s.in(0), "A");
  s.set_in(0, a);
  if (a.ndim_known()) s.set_out(0, with_vector(a, count(diagonal_length(s, a, a[a.ndim() - 1], p.offset))));
}

int64_t as_it_is(int64_t length) { return length; }

// A pair of maps, each the transpose of the other.
template <class P>
OpBuilder<P> add_pair(OpTable& table, const char* extract, const char* extract_doc, const char* make,
                      const char* make_doc) {
  const auto add = [&](const char* name, const char* doc, const char* other) {
    return add_linalg<P>(table, name, {"A"}).doc(doc).gradient_op(std::string("_linalg_") + other, {head(0)});
  };
  add(extract, extract_doc, make);
  return add(make, make_doc, extract);
}

void register_diagonals(OpTable& table) {
  add_pair<DiagonalParams>(table, "extractdiag", "A diagonal of each square matrix of a batch.", "makediag",
                           "A matrix with each vector of a batch on a diagonal, and zeros elsewhere.")
      .infer_shape([](const DiagonalParams& p, ShapeInfer& s) {
        check_vectors(s, s.in(0));
        if (!s.in(0).ndim_known()) return;
        const int64_t length = s.in(0)[s.in(0).ndim() - 1];
        s.set_out(0, with_matrix(s.in(0), length < 0 ? length : length + std::abs(int64_t{p.offset})));
      });
  table.refine<DiagonalParams>("_linalg_extractdiag").infer_shape(extract_shape<DiagonalParams, as_it_is>);
  add_pair<TriangleParams>(
      table, "extracttrian",
      "A triangle of each square matrix of a batch as a vector, row by row; an upper one column by column.",
      "maketrian", "A matrix with each vector of a batch as a triangle, and zeros elsewhere.")
      .infer_shape([](const TriangleParams& p, ShapeInfer& s) {
        check_vectors(s, s.in(0));
        if (!s.in(0).ndim_known()) return;
        const int64_t length = triangle_length(s, s.in(0));
        s.set_out(0, with_matrix(s.in(0), length < 0 ? length : length + std::abs(int64_t{p.offset})));
      });
  table.refine<TriangleParams>("_linalg_extracttrian")
      .infer_shape(extract_shape<TriangleParams, triangle_size>);
}

const char* transposed_part(TrianglePart part) {
  switch (part) {
    case TrianglePart::lower: return "lower";
    case TrianglePart::upper: return "upper";
    case TrianglePart::mirrored: return "folded";
    default: return "mirrored";
  }
}

void register_maps(OpTable& table) {
  table.add_hidden<TrianglePartParams>("_linalg_triangle_part", {"A"})
      .infer_shape([](const TrianglePartParams&, ShapeInfer& s) { tie_squares(s); })
      .types(kMatrixTypes)
      .gradient([](const TrianglePartParams& p, GradBuilder& g) {
        g.set(0, MatrixExpr{g, g.grad_of(0)}.part(transposed_part(p.part)));
      });
  // out = A s: a number for each matrix.
  table.add_hidden<NoParams>("_linalg_scale", {"A", "numbers"})
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        s.tie({0});
        check_matrices(s, s.in(0), "A");
        s.set_in(1, without_last(s.in(0), 2));
      })
      .types(kMatrixTypes)
      .inplace(0, 0)
      .gradient([](const NoParams&, GradBuilder& g) {
        const MatrixExpr head{g, g.grad_of(0)};
        if (g.wants(0)) g.set(0, head.scaled(g.in(1)));
        if (g.wants(1)) g.set(1, head.node("_linalg_inner", {head, g.in(0)}));
      });
  // The sum of the products of two matrices' elements.
  table.add_hidden<NoParams>("_linalg_inner", {"A", "B"})
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        s.tie({0, 1}, {});
        check_matrices(s, s.in(0), "A");
        s.set_out(0, without_last(s.in(0), 2));
      })
      .types(kMatrixTypes)
      .gradient([](const NoParams&, GradBuilder& g) {
        if (g.wants(0)) g.set(0, MatrixExpr{g, g.in(1)}.scaled(g.grad_of(0)));
        if (g.wants(1)) g.set(1, MatrixExpr{g, g.in(0)}.scaled(g.grad_of(0)));
      });
  // A_ij / (v_i - v_j), 0 where the two are equal.
  table.add_hidden<NoParams>("_linalg_gap_quotient", {"A", "values"})
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        tie_squares(s);
        s.set_in(1, vectors_of(s.in(0)));
      })
      .types(kMatrixTypes)
      .gradient([](const NoParams&, GradBuilder& g) {
        const MatrixExpr head{g, g.grad_of(0)};
        if (g.wants(0)) g.set(0, head.node("_linalg_gap_quotient", {head, g.in(1)}));
        if (!g.wants(1)) return;
        const GradExpr product = GradExpr{g, head} * GradExpr{g, g.out(0)};
        const MatrixExpr slope = head.node("_linalg_gap_quotient", {product, g.in(1)});
        const GradExpr columns{g, slope.node("sum", {slope}, {{"axis", "-2"}})};
        const GradExpr rows{g, slope.node("sum", {slope}, {{"axis", "-1"}})};
        g.set(1, columns - rows);
      });
  add_linalg<NoParams>(table, "sumlogdiag", {"A"})
      .doc("The sum of the logarithms of the diagonal of each square matrix of a batch.")
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        s.set_in(0, square(s, s.in(0), "A"));
        s.set_out(0, without_last(s.in(0), 2));
      })
      .gradient([](const NoParams&, GradBuilder& g) {
        const MatrixExpr a{g, g.in(0)};
        const GradExpr diagonal{g, a.node("_linalg_extractdiag", {a})};
        g.set(0, a.node("_linalg_makediag", {diagonal.call("reciprocal")}).scaled(g.grad_of(0)));
      });
}

}  // namespace

void register_linalg_parts(OpTable& table) {
  register_diagonals(table);
  register_maps(table);
}

}  // namespace loomix::ops
