// SPDX-License-Identifier: Apache-2.0
#include "engine/device/scratch_block.h"

#include <vector>

#include "base/error.h"

namespace loomix::engine {

void* ScratchBlock::take_on(DeviceQueue& queue, size_t bytes) const {
  // What is recorded would use the block after others have got it.
  LOOMIX_INTERNAL_CHECK(!queue.is_recording());
  std::vector<TokenRef> pending;
  void* const memory = pool_->allocate(bytes, &queue, pending);
  for (const TokenRef& token : pending) queue.wait_for(*token);
  return memory;
}

void ScratchBlock::give_back_on(DeviceQueue& queue) noexcept {
  try {
    const TokenRef token = queue.record();
    pool_->free(memory_, bytes_, {&token, 1});
  } catch (...) {
    // A lost device: nobody can say when its work lets go of the block, so nobody gets it again.
  }
}

}  // namespace loomix::engine
