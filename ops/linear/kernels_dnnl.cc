// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/linear/product_list.h"
#include "ops/primitive_dnnl.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class P, ProductOf<P> product_of>
Support pays(const P& p, const KernelSpec& spec) {
  if (spec.out[0].dtype != DType::float32) return Support::no("not float32");
  // Without AVX-512 oneDNN reads matrices in place that are not in its order. Where rows are far from each other they meet in one
  // set of the cache: (100, 1024)^T by (100, 1024) takes 2.7 times as long as by BLAS, (100, 1024) by (1024, 1024) twice.
  constexpr int64_t kFar = 256, kFarther = 1024, kDeep = 256;  // floats between rows, and how many rows
  if (!onednn::has(dnnl::cpu_isa::avx512_core)) {
    const MatMul shape = product_of(p, spec.in, spec.out).shape;
    if (shape.transpose_a) return Support::slower("BLAS packs the transposed matrix");
    if (!shape.transpose_b && (shape.n % kFarther == 0 || (shape.n % kFar == 0 && shape.k >= kDeep)))
      return Support::slower("rows of the second matrix meet in one set of the cache");
  }
  return Support::yes();
}

struct Products {
  OpTable& table;
  template <class P, ProductOf<P> product_of, uint32_t, bool>
  void operator()(const char* op) const {
    table.kernel<product_kernel<P, product_of, matmul_dnnl>, pays<P, product_of>>(op, "matmul_dnnl");
  }
};

}  // namespace

void kernels_linear_dnnl(OpTable& table) {
  if (!onednn::is_on()) return;
  kernels_bfloat16_dnnl(table);
  table.kernel<fully_connected_forward<matmul_dnnl>, pays<FullyConnectedParams, fully_connected_product>>(
      "FullyConnected", "matmul_dnnl");
  each_product(Products{table});
}

void gradients_linear_dnnl(OpTable& table) {
  if (!onednn::is_on()) return;
  gradients_bfloat16_dnnl(table);
  each_gradient_product(Products{table});
}

}  // namespace loomix::ops
