// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/linear/product_list.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_linear_cpu(OpTable& table) {
  table.kernel<fully_connected_panels, fully_connected_panels_support, fully_connected_panels_scratch>(
      "FullyConnected", "fully_connected_panels");
  table.kernel<fully_connected_forward<matmul_cblas>>("FullyConnected", "matmul");
  table.kernel<product_kernel<DotParams, dot_product<dot_sizes>, matmul_cblas>>("dot", "matmul");
  table.kernel<product_kernel<DotParams, dot_product<batch_dot_sizes>, matmul_cblas>>("batch_dot", "matmul");
}

}  // namespace loomix::ops
