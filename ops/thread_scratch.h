// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::ops {

inline constexpr int kScratchSlots = 3;

// Memory of the calling thread that stays for its next call. Each of a kernel's buffers has a slot of its own, from 0 to
// kScratchSlots - 1; its content is undefined.
float* thread_scratch(int slot, int64_t floats);

}  // namespace loomix::ops
