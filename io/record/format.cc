// SPDX-License-Identifier: Apache-2.0
#include "io/record/format.h"

#include "base/cpu_level.h"
#include "io/record/step_has_magic.h"

namespace loomix::io {

namespace isa_base {
StepHasMagic step_has_magic;
}
#if LOOMIX_ISA_LEVELS > 1
namespace isa_v3 {
StepHasMagic step_has_magic;
}
namespace isa_v4 {
StepHasMagic step_has_magic;
}
#endif

namespace {

StepHasMagic* pick() {
#if LOOMIX_ISA_LEVELS > 1
  if (cpu_level() >= CpuLevel::avx512) return isa_v4::step_has_magic;
  if (cpu_level() == CpuLevel::avx2) return isa_v3::step_has_magic;
#endif
  return isa_base::step_has_magic;
}

}  // namespace

std::optional<size_t> find_aligned_magic(Bytes bytes, size_t from) {
  static StepHasMagic* const step_has_magic = pick();
  size_t at = from;
  while (at + kMagicStepBytes <= bytes.size() && !step_has_magic(bytes.data() + at)) at += kMagicStepBytes;
  for (; at + 4 <= bytes.size(); at += 4) {
    uint32_t word;
    std::memcpy(&word, bytes.data() + at, 4);
    if (word == kMagic) return at;
  }
  return std::nullopt;
}

}  // namespace loomix::io
