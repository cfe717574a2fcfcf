// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/limits.h"
#include "ops/linear/product.h"

// Kernels of products A^T B, float32, of which A and B have few rows (short_sums_loops.h).
namespace loomix::ops {

Support short_sums_pay(const Product& product, DType dtype, const WorkLimits& limits = work_limits());
size_t short_sums_scratch_bytes(const MatMul& shape);
// C = A^T B, or C += A^T B; scratch has so many bytes.
void short_sums(const MatMul& shape, const float* a, const float* b, float* c, void* scratch,
                engine::RunContext& context);

template <class P, ProductOf<P> product_of>
Support short_sums_support(const P& p, const KernelSpec& spec) {
  return short_sums_pay(product_of(p, spec.in, spec.out), spec.out[0].dtype);
}

template <class P, ProductOf<P> product_of>
size_t short_sums_scratch(const P& p, const KernelSpec& spec) {
  return short_sums_scratch_bytes(product_of(p, spec.in, spec.out).shape);
}

template <class P, ProductOf<P> product_of>
void short_sums_kernel(const P& p, const KernelArgs& args) {
  Product product = product_of(p, args.in, args.out);
  product.shape.add |= args.req[0] == Req::add;
  short_sums(product.shape, args.in[product.a].as<float>(), args.in[product.b].as<float>(),
             args.out[0].mutable_as<float>(), args.scratch.data(), *args.context);
}

}  // namespace loomix::ops
