// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/ordering/ordering.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_ordering_cpu(OpTable& table) {
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<SortParams, sort_cpu, nullptr, sort_scratch>("sort", "sort_cpu", cpu);
  table.kernel<ArgsortParams, argsort_cpu, nullptr, argsort_scratch>("argsort", "argsort_cpu", cpu);
  table.kernel<TopkParams, topk_cpu, nullptr, topk_scratch>("topk", "topk_cpu", cpu);
  table.kernel<SortParams, backward_order_cpu>("_backward_order", "backward_order_cpu", cpu);
}

}  // namespace loomix::ops
