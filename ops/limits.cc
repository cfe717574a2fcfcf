// SPDX-License-Identifier: Apache-2.0
#include "ops/limits.h"

namespace loomix::ops {

const WorkLimits& work_limits() { return limits_of(machine_isa()); }

int64_t loop_grain(int64_t elements) { return work_limits().loop_elements / elements; }

}  // namespace loomix::ops
