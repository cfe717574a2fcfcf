// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  const TensorView& out = args.out[0];
  Product product = product_of(p, args.in, args.out);
  product.shape.add |= args.req[0] == Req::add;
  matmul_batch(matmul, product.batch, product.shape, out.dtype, args.in[product.a].data,
               args.in[product.b].data, out.data, *args.context);
}

}  // namespace loomix::ops
