// SPDX-License-Identifier: Apache-2.0
#include "ops/linalg/matrix_grad.h"
#include "ops/linalg/shapes.h"

// Factorisations, inverses and determinants. Gradients are graphs of the products and of the same operators, so each
// order of derivative is one; formulas as in Seeger, Hetzel, Dai, Meissner, Lawrence: Auto-Differentiating Linear
// Algebra (2017).
namespace loomix::ops {
namespace {

double factor_cost(const NoParams&, const KernelSpec& spec) {
  const Shape& a = spec.in[0].shape;
  return 200 + 0.3 * double(a.size()) * double(a[a.ndim() - 2]);
}

OpBuilder<NoParams> add(OpTable& table, const char* name, const char* doc) {
  return add_linalg<NoParams>(table, name, {"A"}).doc(doc).cost(factor_cost);
}

void square_to_square(const NoParams&, ShapeInfer& s) { tie_squares(s); }

// det and slogdet: some numbers for each matrix, then the LU factors (of the transpose) and their pivots.
template <int kNumbers>
void determinant_shape(const NoParams&, ShapeInfer& s) {
  tie_squares(s, kNumbers);
  for (int i = 0; i < kNumbers; ++i) s.set_out(i, without_last(s.in(0), 2));
  s.set_out(kNumbers + 1, vectors_of(s.in(0)));
}

template <int kNumbers>
void determinant_type(const NoParams&, TypeInfer& t) {
  for (int i = 0; i <= kNumbers; ++i) {
    t.set_in(0, t.out(i));
    t.set_out(i, t.in(0));
  }
  for (int i = 0; i <= kNumbers; ++i) t.set_out(i, t.in(0));
  t.set_out(kNumbers + 1, DType::int32);
}

// A^-T, zero for a singular A.
MatrixExpr inverse_transposed(GradBuilder& g, int lu) {
  return MatrixExpr{g, g.call1("_linalg_inverse_of_lu", {g.in(0), g.out(lu), g.out(lu + 1)})}.transposed();
}

// The gradient of B = A^-1: -B^T G B^T.
void inverse_gradient(const NoParams&, GradBuilder& g) {
  const MatrixExpr b{g, g.out(0)};
  g.set(0, b.times({g, g.grad_of(0)}, true, false, -1).times(b, false, true));
}

// With op(A) X = B and Z = op(A)^-T G: G_B = Z and G_op(A) = -Z X^T.
void solve_gradient(const SolveParams& p, GradBuilder& g) {
  const MatrixExpr x{g, g.out(0)};
  const MatrixExpr z =
      x.node("_linalg_solve", {g.in(0), g.grad_of(0)}, {{"transpose", attr_text(!p.transpose)}});
  if (g.wants(0)) g.set(0, p.transpose ? x.times(z, false, true, -1) : z.times(x, false, true, -1));
  if (g.wants(1)) g.set(1, z);
}

void register_determinants(OpTable& table) {
  add(table, "inverse", "The inverse of each matrix of a batch; an error for a singular one.")
      .infer_shape(square_to_square)
      .inplace(0, 0)
      .gradient(inverse_gradient);
  add_linalg<SolveParams>(table, "solve", {"A", "B"})
      .doc("The X with op(A) X = B for each matrix of a batch; an error for a singular one.")
      .cost([](const SolveParams&, const KernelSpec& spec) { return factor_cost({}, spec); })
      .infer_shape([](const SolveParams&, ShapeInfer& s) {
        s.tie({1});
        check_matrices(s, s.in(1), "B");
        s.set_in(0, square(s, s.in(0), "A"));
        if (s.in(1).ndim_known()) {
          const int64_t order = s.in(1)[s.in(1).ndim() - 2];
          s.set_in(0, with_last(s.in(1), order, order));
        }
        if (!s.in(0).ndim_known()) return;
        s.set_in(1, with_last(s.in(0), s.in(0)[s.in(0).ndim() - 1], kUnknownDim));
        s.set_out(0, s.in(1));
      })
      .inplace(1, 0)
      .gradient(solve_gradient);
  add(table, "det", "The determinant of each matrix of a batch. Its gradient is zero where that is zero.")
      .outputs({"output0", "output1", "output2"})
      .num_visible_outputs([](const NoParams&) { return 1; })
      .infer_shape(determinant_shape<1>)
      .infer_type(determinant_type<1>)
      .output_types(2, {DType::int32})
      .gradient([](const NoParams&, GradBuilder& g) {
        const GradExpr head{g, g.grad_of(0)};
        g.set(0, inverse_transposed(g, 1).scaled(head * GradExpr{g, g.out(0)}));
      });
  add(table, "slogdet",
      "Sign and logarithm of the absolute value of the determinant of each matrix of a batch.")
      .outputs({"output0", "output1", "output2", "output3"})
      .num_visible_outputs([](const NoParams&) { return 2; })
      .infer_shape(determinant_shape<2>)
      .infer_type(determinant_type<2>)
      .output_types(3, {DType::int32})
      .gradient(
          [](const NoParams&, GradBuilder& g) { g.set(0, inverse_transposed(g, 2).scaled(g.grad_of(1))); });
  table.add_hidden<NoParams>("_linalg_inverse_of_lu", {"A", "LU", "pivots"})
      .shape_only(0)
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        s.tie({0, 1});
        tie_squares(s);
        s.set_in(2, vectors_of(s.out(0)));
      })
      .infer_type([](const NoParams&, TypeInfer& t) {
        t.tie({0, 1});
        t.set_in(2, DType::int32);
      })
      .types(kMatrixTypes)
      .input_types(2, {DType::int32})
      .cost(factor_cost)
      .gradient(inverse_gradient);
}

// A = L L^T: with M = L^T G, the gradient is L^-T S L^-1, where S is half of what M's lower triangle mirrors to.
// A = U^T U: the same, of L = U^T.
void potrf_gradient(const PotrfParams& p, GradBuilder& g) {
  const MatrixExpr out{g, g.out(0)}, grad{g, g.grad_of(0)};
  const MatrixExpr l = p.lower ? out : out.transposed();
  const MatrixExpr m = l.times(p.lower ? grad : grad.transposed(), true);
  g.set(0, m.part("mirrored").solved(l, false, true).solved(l, true, false));
}

// B = (L L^T)^-1: the lower triangle of -B (G + G^T) L^-T.
void potri_gradient(const NoParams&, GradBuilder& g) {
  const MatrixExpr both = MatrixExpr{g, g.grad_of(0)}.with_transpose();
  const MatrixExpr product = MatrixExpr{g, g.out(0)}.times(both, false, false, -1);
  g.set(0, product.solved({g, g.in(0)}, true, true).part("lower"));
}

// A = L Q: with M = L^T G_L - G_Q Q^T, the gradient is L^-T (G_Q + S Q), where S mirrors M's lower triangle.
void gelqf_gradient(const NoParams&, GradBuilder& g) {
  const MatrixExpr q{g, g.out(0)}, l{g, g.out(1)};
  const MatrixExpr grad_q{g, g.grad_of(0)};
  const MatrixExpr m = l.times({g, g.grad_of(1)}, true) + grad_q.times(q, false, true, -1);
  g.set(0, (grad_q + m.part("mirrored").times(q, false, false, 2)).solved(l, true, false));
}

// A = U^T diag(v) U: U^T (K + diag(G_v)) U, where K is the symmetric part of (G_U U^T)_ij / (v_i - v_j).
void syevd_gradient(const NoParams&, GradBuilder& g) {
  const MatrixExpr u{g, g.out(0)};
  const MatrixExpr turned = MatrixExpr{g, g.grad_of(0)}.times(u, false, true, 0.5);
  const MatrixExpr quotient = turned.node("_linalg_gap_quotient", {turned, g.out(1)});
  const MatrixExpr middle = quotient.with_transpose() + quotient.node("_linalg_makediag", {g.grad_of(1)});
  g.set(0, u.times(middle, true).times(u));
}

}  // namespace

void register_linalg_factors(OpTable& table) {
  add_linalg<PotrfParams>(table, "potrf", {"A"})
      .doc("The Cholesky factor of each matrix of a batch; an error for one that is not positive definite.")
      .cost([](const PotrfParams&, const KernelSpec& spec) { return factor_cost({}, spec); })
      .infer_shape([](const PotrfParams&, ShapeInfer& s) { tie_squares(s); })
      .inplace(0, 0)
      .gradient(potrf_gradient);
  add(table, "potri", "The inverse of L L^T for each lower triangular matrix L of a batch.")
      .infer_shape(square_to_square)
      .inplace(0, 0)
      .gradient(potri_gradient);
  add(table, "gelqf",
      "Q and L with A = L Q for each matrix of a batch, which has no more rows than columns: the rows of Q "
      "are orthonormal, L is lower triangular.")
      .outputs({"output0", "output1"})
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        s.tie({0});
        const Shape& a = s.in(0);
        check_matrices(s, a, "A");
        if (!a.ndim_known()) return;
        const int64_t rows = a[a.ndim() - 2], columns = a[a.ndim() - 1];
        LOOMIX_CHECK(rows < 0 || columns < 0 || rows <= columns, ShapeError,
                     "[{}] A has shape {}; expected no more rows than columns.", s.who(), a.to_string());
        s.set_out(1, with_last(a, rows, rows));
      })
      .gradient(gelqf_gradient);
  table
      .add<NoParams>("_linalg_syevd", {"A"})  // the one that has no other name
      .doc(
          "U and v with A = U^T diag(v) U for each symmetric matrix of a batch: the rows of U are its "
          "eigenvectors, v its eigenvalues in ascending order.")
      .types(kMatrixTypes)
      .cost(factor_cost)
      .outputs({"output0", "output1"})
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        tie_squares(s);
        s.set_out(1, vectors_of(s.in(0)));
      })
      .gradient(syevd_gradient);
  register_determinants(table);
}

}  // namespace loomix::ops
