// SPDX-License-Identifier: Apache-2.0
#include "ops/linalg/matrix_grad.h"
#include "ops/linalg/shapes.h"

// Singular values and what is made of them. Gradients are graphs of products, as in factors.cc.
namespace loomix::ops {
namespace {

double svd_cost(const NoParams&, const KernelSpec& spec) {
  const Shape& a = spec.in[0].shape;
  return 500 + double(a.size()) * double(std::min(a[a.ndim() - 1], a[a.ndim() - 2]));
}

// 1 / s, and 0 where s is 0.
GradExpr reciprocal_or_zero(GradExpr s) {
  const GradExpr zero = s.call("_equal_scalar", 0.0);
  return 1.0 / (s + zero) - zero;
}

GradExpr scaled_rows(GradBuilder& g, GradValue matrix, GradValue numbers) {
  return {g, g.call1("broadcast_mul", {matrix, g.call1("expand_dims", {numbers}, {{"axis", "-1"}})})};
}

// A = U diag(s) V with orthonormal columns of U and rows of V. With K(M) the symmetric matrix of
// (M_ij - M_ji) / (s_j^2 - s_i^2), the gradient is U (K(U^T G_U) S + S K(V G_V^T) + diag(G_s)) V, and what G_V has outside
// of V's rows: U S^-1 G_V (I - V^T V).
void svd_gradient(const NoParams&, GradBuilder& g) {
  const MatrixExpr u{g, g.out(0)}, v{g, g.out(2)};
  const GradExpr s{g, g.out(1)};
  const GradExpr squares = s * s;
  MatrixExpr middle{g, u.node("_linalg_makediag", {g.grad_of(1)})};
  const auto turned = [&](MatrixExpr product) {
    return product.node("_linalg_gap_quotient", {product, squares}).with_transpose().times_number(-1);
  };
  if (g.has_grad_of(0)) {
    const MatrixExpr k = turned(u.times({g, g.grad_of(0)}, true));  // K S is the transpose of S K
    middle = middle + MatrixExpr{g, scaled_rows(g, k, s)}.transposed();
  }
  if (g.has_grad_of(2)) {
    const MatrixExpr k = turned(v.times({g, g.grad_of(2)}, false, true));
    middle = middle + MatrixExpr{g, scaled_rows(g, k, s)};
  }
  MatrixExpr rows = middle.times(v);
  if (g.has_grad_of(2)) {
    const GradExpr rest{g, v.node("_linalg_outside_of_rows", {g.grad_of(2), v})};
    rows = rows + MatrixExpr{g, scaled_rows(g, rest, reciprocal_or_zero(s))};
  }
  g.set(0, u.times(rows));
}

// G - G V^T V. Where V is square it is zero on the rotations that V may make.
void outside_of_rows_gradient(const NoParams&, GradBuilder& g) {
  const MatrixExpr head{g, g.grad_of(0)}, rows{g, g.in(0)}, v{g, g.in(1)};
  if (g.wants(0)) g.set(0, v.node("_linalg_outside_of_rows", {head, v}));
  if (g.wants(1)) {
    const MatrixExpr one = v.times(head, false, true).times(rows, false, false, -1);
    g.set(1, one + v.times(rows, false, true).times(head, false, false, -1));
  }
}

// P = A^+, of constant rank: -P^T G P^T + (I - A P) G^T P P^T + P^T P G^T (I - P A), after Golub and Pereyra (1973).
void pinv_gradient(const NoParams&, GradBuilder& g) {
  const MatrixExpr a{g, g.in(0)}, p{g, g.out(0)}, head{g, g.grad_of(0)};
  const MatrixExpr right = head.times(p, true);        // G^T P
  const MatrixExpr left = p.times(head, false, true);  // P G^T
  const MatrixExpr outer = right + a.times(p.times(right), false, false, -1);
  const MatrixExpr inner = left + left.times(p).times(a, false, false, -1);
  const MatrixExpr direct = p.times(head.times(p, false, true), true, false, -1);
  g.set(0, direct + outer.times(p, false, true) + p.times(inner, true));
}

}  // namespace

void register_linalg_singular_values(OpTable& table) {
  add_linalg<NoParams>(table, "svd", {"A"})
      .doc(
          "U, s and V with A = U diag(s) V for each matrix of a batch, which has no more rows than columns: "
          "U's columns "
          "and V's rows are orthonormal, s descends.")
      .cost(svd_cost)
      .outputs({"output0", "output1", "output2"})
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        const Shape& a = s.in(0);
        check_matrices(s, a, "A");
        if (!a.ndim_known()) return;
        const int64_t rows = a[a.ndim() - 2], columns = a[a.ndim() - 1];
        LOOMIX_CHECK(rows < 0 || columns < 0 || rows <= columns, ShapeError,
                     "[{}] A has shape {}; expected no more rows than columns.", s.who(), a.to_string());
        s.set_out(0, with_last(a, rows, rows));
        s.set_out(1, vectors_of(a));
        s.set_out(2, a);
      })
      .gradient(svd_gradient);
  add_linalg<NoParams>(table, "pinv", {"A", "rcond"})
      .doc(
          "The pseudo-inverse of each matrix of a batch; singular values up to its `rcond` times the largest "
          "one count as "
          "zero.")
      .cost(svd_cost)
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        const Shape& a = s.in(0);
        check_matrices(s, a, "A");
        if (!a.ndim_known()) return;
        s.set_in(1, without_last(a, 2));
        s.set_out(0, with_last(a, a[a.ndim() - 1], a[a.ndim() - 2]));
      })
      .gradient(pinv_gradient);
  table.add_hidden<NoParams>("_linalg_outside_of_rows", {"grad", "V"})
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        s.tie({0, 1});
      })
      .types(kMatrixTypes)
      .gradient(outside_of_rows_gradient);
}

}  // namespace loomix::ops
