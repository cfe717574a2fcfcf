// SPDX-License-Identifier: Apache-2.0
#include "io/record/format.h"

namespace loomix::io {
namespace {

// Words of one step: 512 bytes, compared without a branch.
constexpr size_t kStep = 128;

bool step_has_magic(const uint8_t* bytes) {
  uint32_t found = 0;
#pragma omp simd reduction(| : found)
  for (size_t i = 0; i < kStep; ++i) {
    uint32_t word;
    std::memcpy(&word, bytes + 4 * i, 4);
    found |= word == kMagic ? 1u : 0u;
  }
  return found != 0;
}

}  // namespace

std::optional<size_t> find_aligned_magic(Bytes bytes, size_t from) {
  size_t at = from;
  while (at + 4 * kStep <= bytes.size() && !step_has_magic(bytes.data() + at)) at += 4 * kStep;
  for (; at + 4 <= bytes.size(); at += 4) {
    uint32_t word;
    std::memcpy(&word, bytes.data() + at, 4);
    if (word == kMagic) return at;
  }
  return std::nullopt;
}

}  // namespace loomix::io
