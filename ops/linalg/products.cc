// SPDX-License-Identifier: Apache-2.0
#include "ops/linalg/matrix_grad.h"
#include "ops/linalg/shapes.h"

// Products of matrices, and solving with triangular ones. Their gradients are products again.
namespace loomix::ops {
namespace {

// Where the rows lie. The columns are the last axis.
int row_axis(const Gemm2Params& p, const char* who, const Shape& shape) {
  const int axis = normalize_axis(p.axis, shape.ndim(), who);
  LOOMIX_CHECK(axis < shape.ndim() - 1, ValueError,
               "[{}] axis {} is the last one of {}, which is that of the columns; expected one before it.",
               who, p.axis, shape.to_string());
  return axis;
}

// op(A) op(B); unknown while something is missing.
Shape product_shape(const Gemm2Params& p, const ShapeInfer& s, const Shape& a, const Shape& b) {
  const char* const who = s.who();
  check_matrices(s, a, "A");
  check_matrices(s, b, "B");
  if (!a.ndim_known() || !b.ndim_known()) return Shape::unknown();
  LOOMIX_CHECK(a.ndim() == b.ndim(), ShapeError,
               "[{}] A has shape {} and B {}; expected the same number of axes.", who, a.to_string(),
               b.to_string());
  const int axis = row_axis(p, who, a);
  const int last = a.ndim() - 1;
  Shape out = a;
  for (int i = 0; i < last; ++i) {
    if (i == axis) continue;
    LOOMIX_CHECK(a[i] < 0 || b[i] < 0 || a[i] == b[i], ShapeError,
                 "[{}] the batches of A {} and B {} differ; axis {} must agree.", who, a.to_string(),
                 b.to_string(), i);
    if (out[i] < 0) out[i] = b[i];
  }
  const int64_t columns = a[p.transpose_a ? axis : last];
  const int64_t rows = b[p.transpose_b ? last : axis];
  LOOMIX_CHECK(columns < 0 || rows < 0 || columns == rows, ShapeError,
               "[{}] A {} and B {} do not multiply: {} columns against {} rows.", who, a.to_string(),
               b.to_string(), columns, rows);
  out[axis] = a[p.transpose_a ? last : axis];
  out[last] = b[p.transpose_b ? axis : last];
  for (const Shape* shape : {&a, &b, &std::as_const(out)}) {
    if (!shape->is_known()) continue;
    LOOMIX_CHECK(shape->size_between(axis + 1, last + 1) <= std::numeric_limits<int32_t>::max(), ShapeError,
                 "[{}] the rows of a matrix of shape {} are too far apart; expected axis -2.", who,
                 shape->to_string());
  }
  return out;
}

GradValue product(GradBuilder& g, const Gemm2Params& p, GradValue a, GradValue b, bool transpose_a,
                  bool transpose_b) {
  return g.call1("_linalg_gemm2", {a, b},
                 {{"transpose_a", attr_text(transpose_a)},
                  {"transpose_b", attr_text(transpose_b)},
                  {"alpha", attr_text(p.alpha)},
                  {"axis", std::to_string(p.axis)}});
}

// The gradients of alpha op(A) op(B) to A and B.
void product_gradient(const Gemm2Params& p, GradBuilder& g) {
  const GradValue head = g.grad_of(0), a = g.in(0), b = g.in(1);
  if (g.wants(0)) {
    g.set(0, p.transpose_a ? product(g, p, b, head, p.transpose_b, true)
                           : product(g, p, head, b, false, !p.transpose_b));
  }
  if (g.wants(1)) {
    g.set(1, p.transpose_b ? product(g, p, head, a, true, p.transpose_a)
                           : product(g, p, a, head, !p.transpose_a, false));
  }
}

void triangular_shape(const TriangularParams& p, ShapeInfer& s) {
  s.tie({1});
  check_matrices(s, s.in(1), "B");
  s.set_in(0, square(s, s.in(0), "A"));
  if (s.in(1).ndim_known()) {
    const int last = s.in(1).ndim() - 1;
    const int64_t order = s.in(1)[p.rightside ? last : last - 1];
    s.set_in(0, with_last(s.in(1), order, order));
  }
  if (s.in(0).ndim_known()) {
    const int64_t order = s.in(0)[s.in(0).ndim() - 1];
    s.set_in(1,
             p.rightside ? with_last(s.in(0), kUnknownDim, order) : with_last(s.in(0), order, kUnknownDim));
    s.set_out(0, s.in(1));
  }
}

TextPairs triangular_attrs(const TriangularParams& p, double alpha) {
  return {{"transpose", attr_text(!p.transpose)},
          {"rightside", attr_text(p.rightside)},
          {"lower", attr_text(p.lower)},
          {"alpha", attr_text(alpha)}};
}

// The gradient of op(A), given as x y^T for A on the left and as x^T y for A on the right, to A's triangle.
GradValue triangle_of_product(GradBuilder& g, const TriangularParams& p, GradValue x, GradValue y,
                              double alpha) {
  if (p.transpose) std::swap(x, y);
  const MatrixExpr full = MatrixExpr{g, x}.times({g, y}, p.rightside, !p.rightside, alpha);
  return full.part(p.lower ? "lower" : "upper");
}

void trmm_gradient(const TriangularParams& p, GradBuilder& g) {
  const GradValue head = g.grad_of(0), b = g.in(1);
  if (g.wants(0)) {
    g.set(0, p.rightside ? triangle_of_product(g, p, b, head, p.alpha)
                         : triangle_of_product(g, p, head, b, p.alpha));
  }
  if (g.wants(1)) g.set(1, g.call1("_linalg_trmm", {g.in(0), head}, triangular_attrs(p, p.alpha)));
}

// With op(A) X = alpha B and Z = op(A)^-T G: G_B = alpha Z and G_op(A) = -Z X^T.
void trsm_gradient(const TriangularParams& p, GradBuilder& g) {
  const MatrixExpr solved{g, g.call1("_linalg_trsm", {g.in(0), g.grad_of(0)}, triangular_attrs(p, 1))};
  if (g.wants(0)) {
    const GradValue x = g.out(0);
    g.set(0,
          p.rightside ? triangle_of_product(g, p, x, solved, -1) : triangle_of_product(g, p, solved, x, -1));
  }
  if (g.wants(1)) g.set(1, p.alpha == 1 ? solved : solved.times_number(p.alpha));
}

void syrk_shape(const SyrkParams& p, ShapeInfer& s) {
  check_matrices(s, s.in(0), "A");
  s.set_out(0, square(s, s.out(0), "the output"));
  if (s.in(0).ndim_known()) {
    const int64_t order = s.in(0)[s.in(0).ndim() - (p.transpose ? 1 : 2)];
    s.set_out(0, with_last(s.in(0), order, order));
  }
  if (s.out(0).ndim_known()) {
    const int64_t order = s.out(0)[s.out(0).ndim() - 1];
    s.set_in(0,
             p.transpose ? with_last(s.out(0), kUnknownDim, order) : with_last(s.out(0), order, kUnknownDim));
  }
}

double product_cost(const Shape& out, int64_t inner) {
  return 100 + 0.05 * double(out.size()) * double(inner);
}

template <class P>
double gemm_cost(const P& p, const KernelSpec& spec) {
  const Shape& a = spec.in[0].shape;
  return product_cost(spec.out[0].shape, a[p.transpose_a ? row_axis(p, "linalg_gemm", a) : a.ndim() - 1]);
}

}  // namespace

void register_linalg_products(OpTable& table) {
  add_linalg<GemmParams>(table, "gemm", {"A", "B", "C"})
      .doc("alpha op(A) op(B) + beta C for each matrix of a batch, where op may transpose.")
      .infer_shape([](const GemmParams& p, ShapeInfer& s) {
        s.set_out(0, s.in(2));
        s.set_out(0, product_shape(p, s, s.in(0), s.in(1)));
        s.set_in(2, s.out(0));
      })
      .inplace(2, 0)
      .cost(gemm_cost<GemmParams>)
      .gradient([](const GemmParams& p, GradBuilder& g) {
        product_gradient(p, g);
        if (g.wants(2))
          g.set(2, p.beta == 1 ? g.grad_of(0) : MatrixExpr{g, g.grad_of(0)}.times_number(p.beta));
      });
  add_linalg<Gemm2Params>(table, "gemm2", {"A", "B"})
      .doc("alpha op(A) op(B) for each matrix of a batch, where op may transpose.")
      .infer_shape(
          [](const Gemm2Params& p, ShapeInfer& s) { s.set_out(0, product_shape(p, s, s.in(0), s.in(1))); })
      .accumulates()
      .cost(gemm_cost<Gemm2Params>)
      .gradient(product_gradient);
  const auto triangular = [&](const char* name, const char* doc,
                              void (*gradient)(const TriangularParams&, GradBuilder&)) {
    add_linalg<TriangularParams>(table, name, {"A", "B"})
        .doc(doc)
        .infer_shape(triangular_shape)
        .inplace(1, 0)
        .cost([](const TriangularParams&, const KernelSpec& spec) {
          return product_cost(spec.out[0].shape, spec.in[0].shape[spec.in[0].shape.ndim() - 1] / 2);
        })
        .gradient(gradient);
  };
  triangular("trmm", "alpha op(A) B, or alpha B op(A), for each triangular matrix A of a batch.",
             trmm_gradient);
  triangular("trsm",
             "Solves op(A) X = alpha B, or X op(A) = alpha B, for each triangular matrix A of a batch.",
             trsm_gradient);
  add_linalg<SyrkParams>(table, "syrk", {"A"})
      .doc("alpha A A^T, or alpha A^T A, for each matrix of a batch.")
      .infer_shape(syrk_shape)
      .cost([](const SyrkParams& p, const KernelSpec& spec) {
        return product_cost(spec.out[0].shape,
                            spec.in[0].shape[spec.in[0].shape.ndim() - (p.transpose ? 2 : 1)]);
      })
      .gradient([](const SyrkParams& p, GradBuilder& g) {
        const MatrixExpr both = MatrixExpr{g, g.grad_of(0)}.with_transpose();
        const MatrixExpr matrix{g, g.in(0)};
        g.set(0, p.transpose ? matrix.times(both, false, false, p.alpha)
                             : both.times(matrix, false, false, p.alpha));
      });
}

}  // namespace loomix::ops
