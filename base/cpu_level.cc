// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_level.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/settings.h"

namespace loomix {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"plain", "sse41", "avx2", "avx512", "avx512_bf16"};

}  // namespace

std::string_view name_of(CpuLevel level) { return kNames[static_cast<size_t>(level)]; }

CpuLevel processor_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // callers may run before the library's constructors
  if (__builtin_cpu_supports("x86-64-v4"))
    return __builtin_cpu_supports("avx512bf16") ? CpuLevel::avx512_bf16 : CpuLevel::avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return CpuLevel::avx2;
  if (__builtin_cpu_supports("sse4.1")) return CpuLevel::sse41;
#endif
  return CpuLevel::plain;
}

CpuLevel allowed_level(std::string_view setting, CpuLevel has) {
  if (setting == "any") return has;
  const auto found = std::find(kNames.begin(), kNames.end(), setting);
  LOOMIX_INTERNAL_CHECK(found != kNames.end());  // the setting has these options
  const auto level = static_cast<CpuLevel>(found - kNames.begin());
  LOOMIX_CHECK(level <= has, ValueError,
               "[LOOMIX_MAX_CPU_ISA] {} is asked for; this processor has no more than {}. Expected any, or a "
               "level up to that.",
               setting, name_of(has));
  return level;
}

CpuLevel cpu_level() {
  static const CpuLevel level = allowed_level(settings().max_cpu_isa, processor_level());
  return level;
}

}  // namespace loomix
