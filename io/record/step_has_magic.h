// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace loomix::io {

inline constexpr size_t kMagicStepBytes = 512;

// Whether one of the words in kMagicStepBytes bytes is the magic number; step_has_magic_simd.cc, compiled for each
// instruction set.
using StepHasMagic = bool(const uint8_t* bytes);

}  // namespace loomix::io
