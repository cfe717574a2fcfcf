// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "ops/linear/dot.h"
#include "ops/linear/fully_connected.h"
#include "ops/linear/product.h"

// The products that FullyConnected, dot, batch_dot and their gradients are.
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

inline Product fully_connected_product(const FullyConnectedParams& p, Views in, Views out) {
  const MatMul shape{.m = out[0].size() / p.num_hidden,
                     .n = p.num_hidden,
                     .k = in[1].shape[1],
                     .transpose_b = true,
                     .add = !p.no_bias};
  return {shape};
}

inline Product fully_connected_data_product(const FullyConnectedParams& p, Views in, Views) {
  return {{.m = in[0].size() / p.num_hidden, .n = in[1].shape[1], .k = p.num_hidden}};
}

inline Product fully_connected_weight_product(const FullyConnectedParams& p, Views in, Views out) {
  return {{.m = p.num_hidden, .n = out[0].shape[1], .k = in[0].size() / p.num_hidden, .transpose_a = true}};
}

// The product is added to the bias.
template <MatMulFn matmul>
void fully_connected_forward(const FullyConnectedParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  if (!p.no_bias) {
    const auto bytes = static_cast<size_t>(p.num_hidden * size_of(out.dtype));
    for (int64_t i = 0; i < out.size() / p.num_hidden; ++i)
      std::memcpy(static_cast<char*>(out.data) + i * bytes, args.in[2].data, bytes);
  }
  product_kernel<FullyConnectedParams, fully_connected_product, matmul>(p, args);
}

// Calls add.operator()<P, product of P, batched, sums rows>(operator) for each product but FullyConnected itself, which has a
// bias. `batched`: the inputs with rows, or matrices, along axis 0, a bit each.
template <class Add>
void each_product(Add&& add) {
  using Dot = DotParams;
  add.template operator()<Dot, dot_product<dot_sizes>, 0, false>("dot");
  add.template operator()<Dot, dot_product<batch_dot_sizes>, 0b011, false>("batch_dot");
}

// The same for those that only gradients need.
template <class Add>
void each_gradient_product(Add&& add) {
  using FC = FullyConnectedParams;
  using Dot = DotParams;
  add.template operator()<FC, fully_connected_data_product, 0b101, false>("_backward_FullyConnected_data");
  add.template operator()<FC, fully_connected_weight_product, 0b011, true>("_backward_FullyConnected_weight");
  add.template operator()<Dot, dot_lhs_product<dot_sizes>, 0, false>("_backward_dot_lhs");
  add.template operator()<Dot, dot_rhs_product<dot_sizes>, 0, false>("_backward_dot_rhs");
  add.template operator()<Dot, dot_lhs_product<batch_dot_sizes>, 0b111, false>("_backward_batch_dot_lhs");
  add.template operator()<Dot, dot_rhs_product<batch_dot_sizes>, 0b111, false>("_backward_batch_dot_rhs");
}

}  // namespace loomix::ops
