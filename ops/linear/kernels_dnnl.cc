// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"
#include "ops/families.h"
#include "ops/linear/product_list.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

Support is_float(const KernelSpec& spec) {
  return spec.out[0].dtype == DType::float32 ? Support::yes() : Support::no("not float32");
}

}  // namespace

void kernels_linear_dnnl(OpTable& table) {
  if (!settings().dnnl) return;
  kernels_bfloat16_dnnl(table);
  table.kernel<fully_connected_forward<matmul_dnnl>, is_float>("FullyConnected", "matmul_dnnl");
  each_product([&]<class P, ProductOf<P> product_of, uint32_t, bool>(const char* op) {
    table.kernel<product_kernel<P, product_of, matmul_dnnl>, is_float>(op, "matmul_dnnl");
  });
}

}  // namespace loomix::ops
