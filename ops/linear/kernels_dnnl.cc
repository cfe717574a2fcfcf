// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"
#include "ops/families.h"
#include "ops/linear/dot_kernels.h"
#include "ops/linear/fully_connected_kernels.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

Support is_float(const KernelSpec& spec) {
  return spec.out[0].dtype == DType::float32 ? Support::yes() : Support::no("not float32");
}

template <class P, ProductOf<P> product_of>
void add_product(OpTable& table, const char* op, const char* name) {
  table.kernel<product_kernel<P, product_of, matmul_dnnl>, is_float>(op, name);
}

}  // namespace

void kernels_linear_dnnl(OpTable& table) {
  if (!settings().dnnl) return;
  kernels_bfloat16_dnnl(table);
  using FC = FullyConnectedParams;
  using Dot = DotParams;
  table.kernel<fully_connected_forward<matmul_dnnl>, is_float>("FullyConnected", "fully_connected_dnnl");
  add_product<FC, fully_connected_data_product>(table, "_backward_FullyConnected_data",
                                                "fully_connected_data_dnnl");
  add_product<FC, fully_connected_weight_product>(table, "_backward_FullyConnected_weight",
                                                  "fully_connected_weight_dnnl");
  add_product<Dot, dot_product<dot_sizes>>(table, "dot", "dot_dnnl");
  add_product<Dot, dot_lhs_product<dot_sizes>>(table, "_backward_dot_lhs", "dot_lhs_dnnl");
  add_product<Dot, dot_rhs_product<dot_sizes>>(table, "_backward_dot_rhs", "dot_rhs_dnnl");
  add_product<Dot, dot_product<batch_dot_sizes>>(table, "batch_dot", "batch_dot_dnnl");
  add_product<Dot, dot_lhs_product<batch_dot_sizes>>(table, "_backward_batch_dot_lhs", "batch_dot_lhs_dnnl");
  add_product<Dot, dot_rhs_product<batch_dot_sizes>>(table, "_backward_batch_dot_rhs", "batch_dot_rhs_dnnl");
}

}  // namespace loomix::ops
