// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/indexing.h"
#include "loomix/nn/ops.h"

// Linear algebra on matrices, and stacks of them where that is said. They run in the background and have gradients.
namespace loomix::nn::linalg {

namespace detail {

using nn::detail::fail;

inline void check_matrix(const Array& a, const char* who) {
  const Shape shape = a.shape();
  if (shape.ndim() != 2)
    detail::fail({"[linalg] ", who, " of an array of shape ", shape, "; expected a matrix."});
}
inline void check_square(const Array& a, const char* who) {
  const Shape shape = a.shape();
  if (shape.ndim() < 2 || shape[shape.ndim() - 1] != shape[shape.ndim() - 2])
    detail::fail({"[linalg] ", who, " of an array of shape ", shape, "; expected square matrices."});
}
inline Array product(const Array& a, const Array& b, bool transpose_a = false) {
  return op::linalg::gemm2(a, b, {.transpose_a = transpose_a});
}
// A right-hand side of one axis is a column.
inline Array column(const Array& b) { return b.ndim() == 1 ? b.reshape({-1, 1}) : b; }

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

// The x of least |a x - b|, for a matrix of full rank with at least as many rows as columns.
inline Array lstsq(const Array& a, const Array& b) {
  detail::check_matrix(a, "lstsq");
  if (a.shape(0) != b.shape(0))
    detail::fail(
        {"[linalg] a system of ", a.shape(0), " equations has a right-hand side of shape ", b.shape(), "."});
  const auto [q, r] = qr(a);
  const Array rotated = detail::product(q, detail::column(b), true);
  const Array x = op::linalg::trsm(r, rotated, {.lower = false});
  return b.ndim() == 1 ? x.reshape(Shape(-1)) : x;
}

// The x of a x = b.
inline Array solve(const Array& a, const Array& b) {
  detail::check_square(a, "solve");
  const Array x = op::linalg::solve(a, detail::column(b));
  return b.ndim() == 1 ? x.reshape(Shape(-1)) : x;
}
// Of one matrix. Singular values up to `rcond` times the largest count as zero.
inline Array pinv(const Array& a, double rcond = 1e-15) {
  detail::check_matrix(a, "pinv");
  return op::linalg::pinv(a, full({1}, rcond, {a.dtype(), a.device()}));
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
