// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/indexing.h"
#include "loomix/nn/ops.h"

// Linear algebra on matrices, and stacks of them where that is said. They run in the background and have gradients.
namespace loomix::nn::linalg {

namespace detail {

using nn::detail::fail;

inline void check_matrices(const Array& a, const char* who) {
  const Shape shape = a.shape();
  if (shape.ndim() < 2)
    detail::fail({"[linalg] ", who, " of an array of shape ", shape, "; expected a matrix, or a stack."});
}
inline void check_square(const Array& a, const char* who) {
  const Shape shape = a.shape();
  if (shape.ndim() < 2 || shape[shape.ndim() - 1] != shape[shape.ndim() - 2])
    detail::fail({"[linalg] ", who, " of an array of shape ", shape, "; expected square matrices."});
}
inline Array product(const Array& a, const Array& b, bool transpose_a = false) {
  return op::linalg::gemm2(a, b, {.transpose_a = transpose_a});
}
// A right-hand side of one axis less than the matrices is one column for each.
inline bool is_column(const Array& a, const Array& b) { return b.ndim() + 1 == a.ndim(); }
inline Array column(const Array& a, const Array& b) { return is_column(a, b) ? b.expand_dims(-1) : b; }
inline void check_sides(const Array& a, const Array& b) {
  const Shape left = a.shape(), right = detail::column(a, b).shape();
  bool fits = left.ndim() == right.ndim();
  for (size_t i = 0; fits && i + 1 < left.ndim(); ++i) fits = left[i] == right[i];
  if (!fits)
    detail::fail({"[linalg] a system of matrices of shape ", left, " has a right-hand side of shape ",
                  b.shape(), "; expected as many rows in as many matrices, or one axis less."});
}
inline Array as_given(const Array& a, const Array& b, const Array& x) {
  if (!is_column(a, b)) return x;
  Shape shape = x.shape();
  shape.sizes.pop_back();
  return x.reshape(shape);
}

// The axes of a stack of matrices, with those of the matrices swapped.
inline Array transposed(const Array& a) {
  Shape axes;
  for (size_t i = 0; i < a.ndim(); ++i) axes.sizes.push_back(static_cast<int64_t>(i));
  std::swap(axes[a.ndim() - 1], axes[a.ndim() - 2]);
  return a.transpose(axes);
}

}  // namespace detail

// The lower triangular L of a = L L', for stacks too. A matrix that is not positive definite is an error of what reads the result.
inline Array cholesky(const Array& a) {
  detail::check_square(a, "cholesky");
  return op::linalg::potrf(a);
}

struct Qr {
  Array q, r;
};
// a = q r of a matrix (or a stack) with at least as many rows as columns: q has orthonormal columns.
inline Qr qr(const Array& a) {
  const Shape shape = a.shape();
  const size_t n = shape.ndim();
  if (n < 2 || shape[n - 2] < shape[n - 1])
    detail::fail(
        {"[linalg] qr of an array of shape ", shape, "; expected at least as many rows as columns."});
  const Arrays parts = op::linalg::gelqf(detail::transposed(a));  // Q and L of a' = L Q
  return {detail::transposed(parts[0]), detail::transposed(parts[1])};
}

struct Eigh {
  Array values, vectors;  // in ascending order; vectors are columns
};
// Of a symmetric matrix, of which the lower triangle is read, or of a stack.
inline Eigh eigh(const Array& a) {
  detail::check_square(a, "eigh");
  const Arrays parts = op::linalg::syevd(a);  // rows are vectors
  return {parts[1], detail::transposed(parts[0])};
}

// The x of least |a x - b|, for matrices of full rank with at least as many rows as columns; of one, or of each of a stack.
inline Array lstsq(const Array& a, const Array& b) {
  detail::check_matrices(a, "lstsq");
  detail::check_sides(a, b);
  const auto [q, r] = qr(a);
  const Array rotated = detail::product(q, detail::column(a, b), true);
  return detail::as_given(a, b, op::linalg::trsm(r, rotated, {.lower = false}));
}

// The x of a x = b, for stacks too.
inline Array solve(const Array& a, const Array& b) {
  detail::check_square(a, "solve");
  detail::check_sides(a, b);
  return detail::as_given(a, b, op::linalg::solve(a, detail::column(a, b)));
}
// Of a matrix or a stack. Singular values up to `rcond` times the largest count as zero.
inline Array pinv(const Array& a, double rcond = 1e-15) {
  detail::check_matrices(a, "pinv");
  Shape batch = a.shape();
  batch.sizes.resize(batch.ndim() - 2);
  if (batch.empty()) batch = {1};
  return op::linalg::pinv(a, full(batch, rcond, {a.dtype(), a.device()}));
}

inline Array inverse(const Array& a) {
  detail::check_square(a, "inverse");
  return op::linalg::inverse(a);
}
inline Array det(const Array& a) {
  detail::check_square(a, "det");
  return op::linalg::det(a)[0];
}

// Of all elements, or over some axes: the root of the sum of squares, or for order 1 the sum of absolute values.
inline Array norm(const Array& a, int order = 2, const Shape& axis = {}, bool keepdims = false) {
  if (order != 1 && order != 2) detail::fail({"[linalg] norm of order ", order, "; expected 1 or 2."});
  return op::norm(a, {.ord = order, .axis = axis, .keepdims = keepdims});
}

struct Svd {
  Array u, s, v;  // a = u diag(s) v'; s falls
};
// Of a matrix or a stack.
inline Svd svd(const Array& a) {
  const Shape shape = a.shape();
  const size_t n = shape.ndim();
  if (n < 2) detail::fail({"[linalg] svd of an array of shape ", shape, "; expected a matrix."});
  const bool wide = shape[n - 2] <= shape[n - 1];
  const Arrays parts = op::linalg::svd(wide ? a : detail::transposed(a));
  const Array v = detail::transposed(parts[2]);
  return wide ? Svd{parts[0], parts[1], v} : Svd{v, parts[1], parts[0]};
}

}  // namespace loomix::nn::linalg
