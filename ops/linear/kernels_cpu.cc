// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/linear/dot_kernels.h"
#include "ops/linear/fully_connected_kernels.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr auto cpu = DeviceType::cpu;
using FC = FullyConnectedParams;
using Dot = DotParams;

// By BLAS; the reference is reached only by asking for it.
template <class P, ProductOf<P> product_of>
void add_product(OpTable& table, const char* op, const char* by_blas, const char* reference) {
  table.kernel<P, product_kernel<P, product_of, matmul_cblas>, nullptr, product_scratch<P, product_of>>(
      op, by_blas, cpu);
  table.kernel<P, product_kernel<P, product_of, matmul_reference>>(op, reference, cpu);
}

}  // namespace

void kernels_linear_cpu(OpTable& table) {
  table.kernel<FC, fully_connected_panels, fully_connected_panels_support, fully_connected_panels_scratch>(
      "FullyConnected", "fully_connected_panels", cpu);
  kernels_linear_dnnl(table);
  table.kernel<FC, fully_connected_forward<matmul_cblas>, nullptr,
               product_scratch<FC, fully_connected_product>>("FullyConnected", "fully_connected_cblas", cpu);
  table.kernel<FC, fully_connected_forward<matmul_reference>>("FullyConnected", "fully_connected_cpu", cpu);
  add_product<FC, fully_connected_data_product>(table, "_backward_FullyConnected_data",
                                                "fully_connected_data_cblas", "fully_connected_data_cpu");
  add_product<FC, fully_connected_weight_product>(
      table, "_backward_FullyConnected_weight", "fully_connected_weight_cblas", "fully_connected_weight_cpu");
  table.kernel<FC, fully_connected_bias_cpu>("_backward_FullyConnected_bias", "fully_connected_bias_cpu",
                                             cpu);
  add_product<Dot, dot_product<dot_sizes>>(table, "dot", "dot_cblas", "dot_cpu");
  add_product<Dot, dot_lhs_product<dot_sizes>>(table, "_backward_dot_lhs", "dot_lhs_cblas", "dot_lhs_cpu");
  add_product<Dot, dot_rhs_product<dot_sizes>>(table, "_backward_dot_rhs", "dot_rhs_cblas", "dot_rhs_cpu");
  add_product<Dot, dot_product<batch_dot_sizes>>(table, "batch_dot", "batch_dot_cblas", "batch_dot_cpu");
  add_product<Dot, dot_lhs_product<batch_dot_sizes>>(table, "_backward_batch_dot_lhs", "batch_dot_lhs_cblas",
                                                     "batch_dot_lhs_cpu");
  add_product<Dot, dot_rhs_product<batch_dot_sizes>>(table, "_backward_batch_dot_rhs", "batch_dot_rhs_cblas",
                                                     "batch_dot_rhs_cpu");
}

}  // namespace loomix::ops
