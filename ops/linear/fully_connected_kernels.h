// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "ops/linear/fully_connected.h"
#include "ops/linear/gemm.h"

namespace loomix::ops {

// The kernels of FullyConnected over one way to multiply matrices.
template <MatMulFn matmul>
void fully_connected_forward(const FullyConnectedParams& p, const KernelArgs& args) {
  const TensorView& data = args.in[0];
  const TensorView& out = args.out[0];
  if (args.req[0] == Req::null || out.size() == 0) return;
  const int64_t rows = out.size() / p.num_hidden;
  const MatMul shape{
      .m = rows, .n = p.num_hidden, .k = args.in[1].shape[1], .transpose_b = true, .add = !p.no_bias};
  if (!p.no_bias) {
    const auto bytes = static_cast<size_t>(p.num_hidden * size_of(out.dtype));
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(static_cast<char*>(out.data) + i * bytes, args.in[2].data, bytes);
  }
  matmul(shape, out.dtype, data.data, args.in[1].data, out.data, *args.context);
}

template <MatMulFn matmul>
void fully_connected_backward_data(const FullyConnectedParams& p, const KernelArgs& args) {
  const TensorView& grad = args.in[0];
  if (args.req[0] == Req::null) return;
  const MatMul shape{.m = grad.size() / p.num_hidden,
                     .n = args.in[1].shape[1],
                     .k = p.num_hidden,
                     .add = args.req[0] == Req::add};
  matmul(shape, grad.dtype, grad.data, args.in[1].data, args.out[0].data, *args.context);
}

template <MatMulFn matmul>
void fully_connected_backward_weight(const FullyConnectedParams& p, const KernelArgs& args) {
  const TensorView& grad = args.in[0];
  if (args.req[0] == Req::null) return;
  const MatMul shape{.m = p.num_hidden,
                     .n = args.out[0].shape[1],
                     .k = grad.size() / p.num_hidden,
                     .transpose_a = true,
                     .add = args.req[0] == Req::add};
  matmul(shape, grad.dtype, grad.data, args.in[1].data, args.out[0].data, *args.context);
}

}  // namespace loomix::ops
