// SPDX-License-Identifier: Apache-2.0
#include "io/record/format.h"
#include "io/record/step_has_magic.h"

namespace loomix::io::LOOMIX_ISA_NAMESPACE {

bool step_has_magic(const uint8_t* bytes) {
  uint32_t found = 0;
#pragma omp simd reduction(| : found)
  for (size_t i = 0; i < kMagicStepBytes / 4; ++i) {
    uint32_t word;
    __builtin_memcpy(&word, bytes + 4 * i, 4);
    found |= word == kMagic ? 1u : 0u;
  }
  return found != 0;
}

}  // namespace loomix::io::LOOMIX_ISA_NAMESPACE
