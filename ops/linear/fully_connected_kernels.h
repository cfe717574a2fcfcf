// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "ops/linear/fully_connected.h"
#include "ops/linear/product.h"

// The products of FullyConnected and its gradients.
namespace loomix::ops {

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

}  // namespace loomix::ops
