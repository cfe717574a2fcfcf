// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace loomix {

// What kernels are chosen for: sets of instructions, each with those before it. `avx2` is x86-64-v3, `avx512` x86-64-v4.
enum class CpuLevel { plain, sse41, avx2, avx512, avx512_bf16 };

std::string_view name_of(CpuLevel level);

// The highest that the processor has; `plain` where it is no x86-64.
CpuLevel processor_level();

// The level that the setting max_cpu_isa allows on a processor of level `has`. ValueError names both where it has less.
CpuLevel allowed_level(std::string_view setting, CpuLevel has);

// The level that kernels may use: the processor's, bounded by the setting. Constant.
CpuLevel cpu_level();

}  // namespace loomix
