// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/linear/dot.h"
#include "ops/linear/product.h"

namespace loomix::ops {

// The product as matrices: rows of op(lhs), columns of op(rhs), what is summed over, and how many of them.
struct DotSizes {
  int64_t m, n, k, batch;
};

inline DotSizes dot_sizes(const DotParams& p, const Shape& lhs, const Shape& rhs) {
  const int64_t k = p.transpose_a ? lhs[0] : lhs[lhs.ndim() - 1];
  const int left = p.transpose_a ? 1 : 0;
  const int right = p.transpose_b ? 0 : 1;
  return {lhs.size_between(left, lhs.ndim() - 1 + left), rhs.size_between(right, rhs.ndim() - 1 + right), k,
          1};
}

inline DotSizes batch_dot_sizes(const DotParams& p, const Shape& lhs, const Shape& rhs) {
  const int ndim = lhs.ndim();
  return {lhs[p.transpose_a ? ndim - 1 : ndim - 2], rhs[p.transpose_b ? ndim - 2 : ndim - 1],
          lhs[p.transpose_a ? ndim - 2 : ndim - 1], lhs.size_between(0, ndim - 2)};
}

using DotSizesOf = DotSizes (*)(const DotParams&, const Shape&, const Shape&);

template <DotSizesOf sizes_of>
Product dot_product(const DotParams& p, Views in, Views) {
  const DotSizes s = sizes_of(p, in[0].shape, in[1].shape);
  return {{.m = s.m, .n = s.n, .k = s.k, .transpose_a = p.transpose_a, .transpose_b = p.transpose_b},
          s.batch};
}

// grad (m, n), rhs, lhs (shape only) -> gradient of lhs.
template <DotSizesOf sizes_of>
Product dot_lhs_product(const DotParams& p, Views in, Views out) {
  const DotSizes s = sizes_of(p, out[0].shape, in[1].shape);
  if (p.transpose_a) {  // lhs is (k, m): op(rhs) grad^T
    return {{.m = s.k, .n = s.m, .k = s.n, .transpose_a = p.transpose_b, .transpose_b = true}, s.batch, 1, 0};
  }
  return {{.m = s.m, .n = s.k, .k = s.n, .transpose_b = !p.transpose_b}, s.batch};
}

// grad (m, n), lhs, rhs (shape only) -> gradient of rhs.
template <DotSizesOf sizes_of>
Product dot_rhs_product(const DotParams& p, Views in, Views out) {
  const DotSizes s = sizes_of(p, in[1].shape, out[0].shape);
  if (p.transpose_b) {  // rhs is (n, k): grad^T op(lhs)
    return {{.m = s.n, .n = s.k, .k = s.m, .transpose_a = true, .transpose_b = p.transpose_a}, s.batch};
  }
  return {{.m = s.k, .n = s.n, .k = s.m, .transpose_a = !p.transpose_a}, s.batch, 1, 0};
}

}  // namespace loomix::ops
