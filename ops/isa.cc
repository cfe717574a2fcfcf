// SPDX-License-Identifier: Apache-2.0
#include "ops/isa.h"

#include "base/cpu_level.h"

namespace loomix::ops {

Isa machine_isa() {
  const CpuLevel level = cpu_level();
  return level >= CpuLevel::avx512 ? Isa::v4 : level == CpuLevel::avx2 ? Isa::v3 : Isa::base;
}

}  // namespace loomix::ops
