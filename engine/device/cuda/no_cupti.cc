// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/kernel_times.h"

namespace loomix::engine {

KernelTimes* KernelTimes::recording() noexcept { return nullptr; }
void KernelTimes::complete(uint64_t) noexcept {}

}  // namespace loomix::engine
