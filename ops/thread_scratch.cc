// SPDX-License-Identifier: Apache-2.0
#include "ops/thread_scratch.h"

#include <memory>

namespace loomix::ops {

float* thread_scratch(int slot, int64_t floats) {
  struct Buffer {
    std::unique_ptr<float[]> memory;
    int64_t size = 0;
  };
  static thread_local Buffer buffers[kScratchSlots];
  Buffer& buffer = buffers[slot];
  if (buffer.size < floats) {
    buffer.memory = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(floats));
    buffer.size = floats;
  }
  return buffer.memory.get();
}

}  // namespace loomix::ops
