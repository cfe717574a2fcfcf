// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/loops.h"
#include "ops/families.h"
#include "ops/linear/dot_kernels.h"
#include "ops/linear/fully_connected_kernels.h"
#include "ops/rearranged.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using FC = FullyConnectedParams;
using Dot = DotParams;

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

// By BLAS; halves as float32; the reference. `batched`: the inputs with rows, or matrices, along axis 0, a bit each.
template <class P, ProductOf<P> product_of, uint32_t batched, bool sums_rows = false>
void add_product(OpTable& table, const char* op, const char* blas, const char* few, const char* halves,
                 const char* reference) {
  table.kernel<product_kernel<P, product_of, matmul_cblas>, by_blas>(op, blas);
  table.kernel<product_kernel<P, product_of, matmul_halves>, few_rows<P, product_of>>(op, few);
  add_rearranged<P, batched, sums_rows>(table, op, halves);
  table.kernel<product_kernel<P, product_of, matmul_reference>>(op, reference);
}

}  // namespace

void kernels_linear_cpu(OpTable& table) {
  table.kernel<fully_connected_panels, fully_connected_panels_support, fully_connected_panels_scratch>(
      "FullyConnected", "fully_connected_panels");
  kernels_linear_dnnl(table);
  table.kernel<fully_connected_forward<matmul_cblas>, by_blas>("FullyConnected", "fully_connected_cblas");
  table.kernel<fully_connected_forward<matmul_halves>, few_rows<FC, fully_connected_product>>(
      "FullyConnected", "fully_connected_few_halves");
  add_rearranged<FC, 0b001>(table, "FullyConnected", "fully_connected_halves");
  table.kernel<fully_connected_forward<matmul_reference>>("FullyConnected", "fully_connected_cpu");
  add_product<FC, fully_connected_data_product, 0b101>(
      table, "_backward_FullyConnected_data", "fully_connected_data_cblas", "fully_connected_data_few_halves",
      "fully_connected_data_halves", "fully_connected_data_cpu");
  add_product<FC, fully_connected_weight_product, 0b011, true>(
      table, "_backward_FullyConnected_weight", "fully_connected_weight_cblas",
      "fully_connected_weight_few_halves", "fully_connected_weight_halves", "fully_connected_weight_cpu");
  table.kernel<fully_connected_bias_cpu>("_backward_FullyConnected_bias", "fully_connected_bias_cpu");
  add_product<Dot, dot_product<dot_sizes>, 0>(table, "dot", "dot_cblas", "dot_few_halves", "dot_halves",
                                              "dot_cpu");
  add_product<Dot, dot_lhs_product<dot_sizes>, 0>(table, "_backward_dot_lhs", "dot_lhs_cblas",
                                                  "dot_lhs_few_halves", "dot_lhs_halves", "dot_lhs_cpu");
  add_product<Dot, dot_rhs_product<dot_sizes>, 0>(table, "_backward_dot_rhs", "dot_rhs_cblas",
                                                  "dot_rhs_few_halves", "dot_rhs_halves", "dot_rhs_cpu");
  add_product<Dot, dot_product<batch_dot_sizes>, 0b011>(
      table, "batch_dot", "batch_dot_cblas", "batch_dot_few_halves", "batch_dot_halves", "batch_dot_cpu");
  add_product<Dot, dot_lhs_product<batch_dot_sizes>, 0b111>(table, "_backward_batch_dot_lhs",
                                                            "batch_dot_lhs_cblas", "batch_dot_lhs_few_halves",
                                                            "batch_dot_lhs_halves", "batch_dot_lhs_cpu");
  add_product<Dot, dot_rhs_product<batch_dot_sizes>, 0b111>(table, "_backward_batch_dot_rhs",
                                                            "batch_dot_rhs_cblas", "batch_dot_rhs_few_halves",
                                                            "batch_dot_rhs_halves", "batch_dot_rhs_cpu");
}

}  // namespace loomix::ops
