// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/linear/dot.h"
#include "ops/linear/fully_connected.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// BLAS next; the reference is reached only by asking for it.
template <class P, void (*Fast)(const P&, const KernelArgs&), void (*Reference)(const P&, const KernelArgs&)>
void pair(OpTable& table, const char* op, const char* fast, const char* reference) {
  table.kernel<P, Fast>(op, fast, DeviceType::cpu);
  table.kernel<P, Reference>(op, reference, DeviceType::cpu);
}

}  // namespace

void kernels_linear_cpu(OpTable& table) {
  using FC = FullyConnectedParams;
  using Dot = DotParams;
  table.kernel<FC, fully_connected_panels, fully_connected_panels_support, fully_connected_panels_scratch>(
      "FullyConnected", "fully_connected_panels", DeviceType::cpu);
  kernels_linear_dnnl(table);
  pair<FC, fully_connected_cblas, fully_connected_cpu>(table, "FullyConnected", "fully_connected_cblas",
                                                       "fully_connected_cpu");
  pair<FC, fully_connected_data_cblas, fully_connected_data_cpu>(
      table, "_backward_FullyConnected_data", "fully_connected_data_cblas", "fully_connected_data_cpu");
  pair<FC, fully_connected_weight_cblas, fully_connected_weight_cpu>(
      table, "_backward_FullyConnected_weight", "fully_connected_weight_cblas", "fully_connected_weight_cpu");
  table.kernel<FC, fully_connected_bias_cpu>("_backward_FullyConnected_bias", "fully_connected_bias_cpu",
                                             DeviceType::cpu);
  pair<Dot, dot_cblas, dot_cpu>(table, "dot", "dot_cblas", "dot_cpu");
  pair<Dot, dot_lhs_cblas, dot_lhs_cpu>(table, "_backward_dot_lhs", "dot_lhs_cblas", "dot_lhs_cpu");
  pair<Dot, dot_rhs_cblas, dot_rhs_cpu>(table, "_backward_dot_rhs", "dot_rhs_cblas", "dot_rhs_cpu");
  pair<Dot, batch_dot_cblas, batch_dot_cpu>(table, "batch_dot", "batch_dot_cblas", "batch_dot_cpu");
  pair<Dot, batch_dot_lhs_cblas, batch_dot_lhs_cpu>(table, "_backward_batch_dot_lhs", "batch_dot_lhs_cblas",
                                                    "batch_dot_lhs_cpu");
  pair<Dot, batch_dot_rhs_cblas, batch_dot_rhs_cpu>(table, "_backward_batch_dot_rhs", "batch_dot_rhs_cblas",
                                                    "batch_dot_rhs_cpu");
}

}  // namespace loomix::ops
