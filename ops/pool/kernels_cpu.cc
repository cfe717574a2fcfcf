// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/pool/pooling.h"
#include "ops/rearranged.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_pool_cpu(OpTable& table) {
  using P = PoolingParams;
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<P, pooling_max2_simd, pooling_max2_support>("Pooling", "pooling_max2_simd", cpu);
  table.kernel<P, pooling_max2_backward_simd, pooling_max2_backward_support>(
      "_backward_Pooling", "pooling_max2_backward_simd", cpu);
  kernels_pool_dnnl(table);
  add_rearranged<P, 0b001>(table, "Pooling", "pooling_rearranged");
  add_rearranged<P, 0b111>(table, "_backward_Pooling", "pooling_backward_rearranged");
  table.kernel<P, pooling_cpu>("Pooling", "pooling_cpu", cpu);
  table.kernel<P, pooling_backward_cpu>("_backward_Pooling", "pooling_backward_cpu", cpu);
  table.kernel<PoolingV1Params, pooling_v1_cpu>("Pooling_v1", "pooling_v1_cpu", cpu);
  table.kernel<PoolingV1Params, pooling_v1_backward_cpu>("_backward_Pooling_v1", "pooling_v1_backward_cpu",
                                                         cpu);
}

}  // namespace loomix::ops
