// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/init/init.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_init_cpu(OpTable& table) {
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<FillParams, zeros_cpu>("_zeros", "zeros_cpu", cpu);
  table.kernel<FillParams, ones_cpu>("_ones", "ones_cpu", cpu);
  table.kernel<ZerosWithoutDtypeParams, zeros_without_dtype_cpu>("_zeros_without_dtype",
                                                                 "zeros_without_dtype_cpu", cpu);
  table.kernel<FullParams, full_cpu>("_full", "full_cpu", cpu);
  table.kernel<RangeParams, arange_cpu>("_arange", "arange_cpu", cpu);
  table.kernel<LinspaceParams, linspace_cpu>("_linspace", "linspace_cpu", cpu);
  table.kernel<EyeParams, eye_cpu>("_eye", "eye_cpu", cpu);
  table.kernel<SetValueParams, set_value_cpu>("_set_value", "set_value_cpu", cpu);
  table.kernel<ArangeLikeParams, arange_like_cpu>("_contrib_arange_like", "arange_like_cpu", cpu);
}

}  // namespace loomix::ops
