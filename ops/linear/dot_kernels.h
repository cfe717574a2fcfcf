// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/linear/dot.h"
#include "ops/linear/gemm.h"

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

inline void run_dot(MatMulFn matmul, const DotSizes& sizes, const MatMul& shape, const TensorView& a,
                    const TensorView& b, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  MatMul task = shape;
  task.add = args.req[0] == Req::add;
  matmul_batch(matmul, sizes.batch, task, args.out[0].dtype, a.data, b.data, args.out[0].data, *args.context);
}

template <MatMulFn matmul, DotSizesOf sizes_of>
void dot_product(const DotParams& p, const KernelArgs& args) {
  const DotSizes s = sizes_of(p, args.in[0].shape, args.in[1].shape);
  run_dot(matmul, s,
          {.m = s.m, .n = s.n, .k = s.k, .transpose_a = p.transpose_a, .transpose_b = p.transpose_b},
          args.in[0], args.in[1], args);
}

template <MatMulFn matmul, DotSizesOf sizes_of>
void dot_to_lhs(const DotParams& p, const KernelArgs& args) {
  const DotSizes s = sizes_of(p, args.out[0].shape, args.in[1].shape);
  const TensorView& grad = args.in[0];  // (m, n)
  const TensorView& rhs = args.in[1];
  if (p.transpose_a) {  // lhs is (k, m): op(rhs) grad^T
    run_dot(matmul, s, {.m = s.k, .n = s.m, .k = s.n, .transpose_a = p.transpose_b, .transpose_b = true}, rhs,
            grad, args);
  } else {
    run_dot(matmul, s, {.m = s.m, .n = s.k, .k = s.n, .transpose_b = !p.transpose_b}, grad, rhs, args);
  }
}

template <MatMulFn matmul, DotSizesOf sizes_of>
void dot_to_rhs(const DotParams& p, const KernelArgs& args) {
  const DotSizes s = sizes_of(p, args.in[1].shape, args.out[0].shape);
  const TensorView& grad = args.in[0];  // (m, n)
  const TensorView& lhs = args.in[1];
  if (p.transpose_b) {  // rhs is (n, k): grad^T op(lhs)
    run_dot(matmul, s, {.m = s.n, .n = s.k, .k = s.m, .transpose_a = true, .transpose_b = p.transpose_a},
            grad, lhs, args);
  } else {
    run_dot(matmul, s, {.m = s.k, .n = s.n, .k = s.m, .transpose_a = !p.transpose_a}, lhs, grad, args);
  }
}

}  // namespace loomix::ops
