// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>

#include "ops/kernel.h"
#include "ops/linear/gemm.h"

// Kernels that are one matrix product of two inputs, or a batch of them: an operator says which product it is.
namespace loomix::ops {

using Views = std::span<const TensorView>;

struct Product {
  MatMul shape;
  int64_t batch = 1;
  size_t a = 0, b = 1;  // the inputs that are multiplied
};

template <class P>
using ProductOf = Product (*)(const P& p, Views in, Views out);

template <class P, ProductOf<P> product_of, MatMulFn matmul>
void product_kernel(const P& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const TensorView& out = args.out[0];
  Product product = product_of(p, args.in, args.out);
  product.shape.add |= args.req[0] == Req::add;
  const size_t tile = matmul_tile_bytes(product.shape, out.dtype);
  ScratchSlots tiles(args.scratch, tile, tile ? static_cast<int>(args.scratch.size() / tile) : 0);
  matmul_batch(matmul, product.batch, product.shape, out.dtype, args.in[product.a].data,
               args.in[product.b].data, out.data, *args.context, &tiles);
}

// For kernels by matmul_cblas.
template <class P, ProductOf<P> product_of>
size_t product_scratch(const P& p, const KernelSpec& spec) {
  const Product product = product_of(p, spec.in, spec.out);
  const auto threads = static_cast<size_t>(std::clamp(spec.cores, 1, ScratchSlots::kMost));
  return matmul_tile_bytes(product.shape, spec.out[0].dtype) * threads;
}

}  // namespace loomix::ops
