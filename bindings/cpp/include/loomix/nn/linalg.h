// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/indexing.h"
#include "loomix/nn/ops.h"

// Linear algebra on matrices, and stacks of them where that is said. All but svd run in the background and have gradients.
namespace loomix::nn::linalg {

namespace detail {



inline void check_matrix(const Array& a, const char* who) {
  const Shape shape = a.shape();
  if (shape.ndim() != 2)
    nn::detail::fail({"[linalg] ", who, " of an array of shape ", shape, "; expected a matrix."});
}
inline void check_square(const Array& a, const char* who) {
  const Shape shape = a.shape();
  if (shape.ndim() < 2 || shape[shape.ndim() - 1] != shape[shape.ndim() - 2])
    nn::detail::fail({"[linalg] ", who, " of an array of shape ", shape, "; expected square matrices."});
}
inline Array product(const Array& a, const Array& b, bool transpose_a = false) {
  return op::linalg::gemm2(a, b, {.transpose_a = transpose_a});
}
// A right-hand side of one axis is a column.
inline Array column(const Array& b) { return b.ndim() == 1 ? b.reshape({-1, 1}) : b; }

// One-sided Jacobi rotations: pairs of columns of `a` (rows x columns, row after row) are made orthogonal until all are, and `v`
// turns with them.
inline void rotate(std::vector<double>& a, std::vector<double>& v, int64_t rows, int64_t columns) {
  const auto at = [columns](std::vector<double>& m, int64_t i, int64_t j) -> double& {
    return m[static_cast<size_t>(i * columns + j)];
  };
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool changed = false;
    for (int64_t p = 0; p + 1 < columns; ++p) {
      for (int64_t q = p + 1; q < columns; ++q) {
        double pp = 0, qq = 0, pq = 0;
        for (int64_t i = 0; i < rows; ++i) {
          pp += at(a, i, p) * at(a, i, p);
          qq += at(a, i, q) * at(a, i, q);
          pq += at(a, i, p) * at(a, i, q);
        }
        if (std::fabs(pq) <= 1e-15 * std::sqrt(pp * qq)) continue;
        changed = true;
        const double zeta = (qq - pp) / (2 * pq);
        const double t = (zeta < 0 ? -1 : 1) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        const auto turn = [&](std::vector<double>& m, int64_t length) {
          for (int64_t i = 0; i < length; ++i) {
            const double x = at(m, i, p), y = at(m, i, q);
            at(m, i, p) = c * x - s * y;
            at(m, i, q) = s * x + c * y;
          }
        };
        turn(a, rows);
        turn(v, columns);
      }
    }
    if (!changed) return;
  }
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
    nn::detail::fail(
        {"[linalg] qr of an array of shape ", shape, "; expected at least as many rows as columns."});
  Shape swapped;
  for (size_t i = 0; i < n; ++i) swapped.sizes.push_back(static_cast<int64_t>(i));
  std::swap(swapped[n - 1], swapped[n - 2]);
  const Arrays parts = op::linalg::gelqf(a.transpose(swapped));  // Q and L of a' = L Q
  return {parts[0].transpose(swapped), parts[1].transpose(swapped)};
}

struct Eigh {
  Array values, vectors;  // in ascending order; vectors are columns
};
// Of a symmetric matrix, of which the lower triangle is read, or of a stack.
inline Eigh eigh(const Array& a) {
  detail::check_square(a, "eigh");
  const Arrays parts = op::linalg::syevd(a);  // rows are vectors
  Shape swapped;
  for (size_t i = 0; i < a.ndim(); ++i) swapped.sizes.push_back(static_cast<int64_t>(i));
  std::swap(swapped[a.ndim() - 1], swapped[a.ndim() - 2]);
  return {parts[1], parts[0].transpose(swapped)};
}

// The x of least |a x - b|, for a matrix of full rank with at least as many rows as columns.
inline Array lstsq(const Array& a, const Array& b) {
  detail::check_matrix(a, "lstsq");
  if (a.shape(0) != b.shape(0))
    nn::detail::fail(
        {"[linalg] a system of ", a.shape(0), " equations has a right-hand side of shape ", b.shape(), "."});
  const auto [q, r] = qr(a);
  const Array rotated = detail::product(q, detail::column(b), true);
  const Array x = op::linalg::trsm(r, rotated, {.lower = false});
  return b.ndim() == 1 ? x.reshape(Shape(-1)) : x;
}

// The x of a x = b, by QR.
inline Array solve(const Array& a, const Array& b) {
  detail::check_square(a, "solve");
  return lstsq(a, b);
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
  if (order != 1 && order != 2) nn::detail::fail({"[linalg] norm of order ", order, "; expected 1 or 2."});
  return op::norm(a, {.ord = order, .axis = axis, .keepdims = keepdims});
}

struct Svd {
  Array u, s, v;  // a = u diag(s) v'; s falls
};
// Of one matrix. It waits and runs on the host in double precision, and has no gradient.
inline Svd svd(const Array& a) {
  detail::check_matrix(a, "svd");
  const int64_t rows = a.shape(0), columns = a.shape(1);
  if (rows < columns) {
    const Svd other = svd(a.transpose());
    return {other.v, other.s, other.u};
  }
  const Pause pause;
  std::vector<double> u = a.astype(DType::float64).to(cpu()).to_vector<double>();
  std::vector<double> v(static_cast<size_t>(columns * columns));
  for (int64_t i = 0; i < columns; ++i) v[static_cast<size_t>(i * columns + i)] = 1;
  detail::rotate(u, v, rows, columns);
  std::vector<double> sizes;
  std::vector<int64_t> order;
  for (int64_t j = 0; j < columns; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < rows; ++i)
      sum += u[static_cast<size_t>(i * columns + j)] * u[static_cast<size_t>(i * columns + j)];
    sizes.push_back(std::sqrt(sum));
    auto place = order.begin();
    while (place != order.end() && sizes[static_cast<size_t>(*place)] >= sizes.back()) ++place;
    order.insert(place, j);
  }
  const Array by = Array::from(order);
  const Array s = Array::from(sizes), scale = maximum(s, 1e-300);
  const auto sorted = [&](const Array& part) {
    return Array(part(all, by)).astype(a.dtype()).to(a.device());
  };
  return {sorted(Array::from(u, {rows, columns}) / scale.reshape({1, columns})),
          Array(s(by)).astype(a.dtype()).to(a.device()), sorted(Array::from(v, {columns, columns}))};
}

}  // namespace loomix::nn::linalg
