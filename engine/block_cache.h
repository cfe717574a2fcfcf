// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <new>

#include "engine/fork.h"

namespace loomix::engine {

// Blocks of one size, aligned to 64 bytes, for objects that are made on one thread and often freed on another. Each
// thread keeps up to 2 * kBatch of them; batches move between threads through a shared list. Blocks are kept for reuse.
template <size_t kBytes>
class BlockCache {
  static_assert(kBytes % 64 == 0);

 public:
  static constexpr size_t kBatch = 64;

  static void* allocate() {
    Local& local = local_;
    if (local.count == 0) [[unlikely]]
      refill(local);
    if (local.count == 0) [[unlikely]]
      return fresh();
    return local.blocks[--local.count];
  }
  static void free(void* block) noexcept {
    Local& local = local_;
    if (local.count == 0) [[unlikely]]
      returner_.armed = true;
    if (local.count == 2 * kBatch) [[unlikely]]
      give_back(local, kBatch);
    local.blocks[local.count++] = block;
  }

 private:
  static constexpr size_t kSlabBlocks = 64;
  // Free blocks hold the address of the next one. Nothing here is ever destroyed, so threads may end at any time.
  struct Shared {
    ForkLock lock;
    void* first = nullptr;
  };
  struct Local {
    size_t count = 0;
    void* blocks[2 * kBatch] = {};
  };
  // Gives a thread's blocks to the others when it ends. Apart from Local so that access to that needs no guard.
  struct Returner {
    bool armed = false;
    ~Returner() {
      if (armed) give_back(local_, local_.count);
    }
  };

  static void refill(Local& local) {
    returner_.armed = true;
    const std::lock_guard lock(shared_.lock);
    while (local.count < kBatch && shared_.first != nullptr) {
      local.blocks[local.count++] = shared_.first;
      shared_.first = *static_cast<void**>(shared_.first);
    }
  }
  static void* fresh() {
    std::byte* const slab =
        static_cast<std::byte*>(::operator new (kBytes* kSlabBlocks, std::align_val_t{64}));
    for (size_t i = kSlabBlocks - 1; i > 0; --i) local_.blocks[local_.count++] = slab + i * kBytes;
    return slab;
  }
  static void give_back(Local& local, size_t count) noexcept {
    const std::lock_guard lock(shared_.lock);
    for (; count > 0; --count) {
      void* const block = local.blocks[--local.count];
      *static_cast<void**>(block) = shared_.first;
      shared_.first = block;
    }
  }

  static inline constinit Shared shared_{};
  static inline constinit thread_local Local local_{};
  static inline thread_local Returner returner_{};
};

}  // namespace loomix::engine
