// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/loops.h"
#include "ops/families.h"
#include "ops/linear/product_list.h"
#include "ops/linear/short_sums.h"
#include "ops/rearranged.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using FC = FullyConnectedParams;

Support by_blas(const KernelSpec& spec) {
  const DType dtype = spec.out[0].dtype;
  if (dtype != DType::float32 && dtype != DType::float64) return Support::no("it is for float32 and float64");
  return Support::yes();
}

template <class P, ProductOf<P> product_of>
Support few_rows(const P& p, const KernelSpec& spec) {
  if (!is_half(spec.out[0].dtype)) return Support::no("it is for halves");
  const MatMul shape = product_of(p, spec.in, spec.out).shape;
  if (shape.m > kFewRows || shape.transpose_a) return Support::no("there are too many rows");
  return Support::yes();
}

// grad -> gradient of the bias.
void fully_connected_bias_cpu(const FC& p, const KernelArgs& args) {
  const TensorView& grad = args.in[0];
  sum_rows(grad.size() / p.num_hidden, p.num_hidden, grad.dtype, grad.data, args.out[0].data,
           args.req[0] == Req::add, *args.context);
}

void relu_fully_connected_cpu(const FC& p, const KernelArgs& args) {
  fully_connected_forward<matmul_reference>(p, args);
  const TensorView& out = args.out[0];
  dispatch_floating(out.dtype, "_relu_FullyConnected", [&]<class T>(Type<T>) {
    for (T& item : std::span(out.mutable_as<T>(), static_cast<size_t>(out.size())))
      item = item <= T(0) ? T(0) : item;
  });
}

// By BLAS; halves as float32; the reference.
struct Products {
  OpTable& table;
  template <class P, ProductOf<P> product_of, uint32_t batched, bool sums_rows>
  void operator()(const char* op) const {
    table.kernel<product_kernel<P, product_of, matmul_cblas>, by_blas>(op, "matmul_cblas");
    table.kernel<product_kernel<P, product_of, matmul_halves>, few_rows<P, product_of>>(op,
                                                                                        "matmul_few_halves");
    add_rearranged<P, batched, sums_rows>(table, op, "matmul_halves");
    table.kernel<product_kernel<P, product_of, matmul_reference>>(op, "matmul_cpu");
  }
};

template <class P, ProductOf<P> product_of>
void add_short_sums(OpTable& table, const char* op) {
  table.kernel<short_sums_kernel<P, product_of>, short_sums_support<P, product_of>,
               short_sums_scratch<P, product_of>>(op, "matmul_short_sums");
}

}  // namespace

void kernels_linear_cpu(OpTable& table) {
  table.kernel<fully_connected_panels, fully_connected_panels_support, fully_connected_panels_scratch>(
      "FullyConnected", "fully_connected_panels");
  table.kernel<bfloat16_panels, bfloat16_panels_support, bfloat16_panels_scratch>("FullyConnected",
                                                                                  "bfloat16_panels");
  kernels_linear_dnnl(table);
  table.kernel<fully_connected_forward<matmul_cblas>, by_blas>("FullyConnected", "matmul_cblas");
  table.kernel<fully_connected_forward<matmul_halves>, few_rows<FC, fully_connected_product>>(
      "FullyConnected", "matmul_few_halves");
  add_rearranged<FC, 0b001>(table, "FullyConnected", "matmul_halves");
  table.kernel<fully_connected_forward<matmul_reference>>("FullyConnected", "matmul_cpu");
  each_product(Products{table});
}

void gradients_linear_cpu(OpTable& table) {
  add_short_sums<FC, fully_connected_weight_product>(table, "_backward_FullyConnected_weight");
  add_short_sums<DotParams, dot_rhs_product<dot_sizes>>(table, "_backward_dot_rhs");
  gradients_linear_dnnl(table);
  each_gradient_product(Products{table});
  table.kernel<fully_connected_bias_cpu>("_backward_FullyConnected_bias", "fully_connected_bias_cpu");
}

void kernels_closed_products(OpTable& table) {
  table.kernel<relu_fully_connected_cpu>("_relu_FullyConnected", "relu_fully_connected_cpu");
}

}  // namespace loomix::ops
