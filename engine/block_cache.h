// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace loomix::engine {

// Blocks of one size, aligned to 64 bytes, for objects that are made on one thread and often freed on another. Each
// thread keeps up to 2 * kBatch of them; batches move between threads through a shared list. Blocks are kept for reuse.
template <size_t kBytes>
class BlockCache {
  static_assert(kBytes % 64 == 0);

 public:
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
      spill(local);
    local.blocks[local.count++] = block;
  }

 private:
  static constexpr size_t kBatch = 64;
  static constexpr size_t kSlabBlocks = 64;
  struct Shared {
    std::mutex mutex;
    std::vector<void*> blocks;
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

  static Shared& shared() {
    static Shared* const shared = new Shared;  // outlives threads that end after static destruction
    return *shared;
  }
  static void refill(Local& local) {
    returner_.armed = true;
    Shared& all = shared();
    const std::lock_guard lock(all.mutex);
    while (local.count < kBatch && !all.blocks.empty()) {
      local.blocks[local.count++] = all.blocks.back();
      all.blocks.pop_back();
    }
  }
  static void* fresh() {
    std::byte* const slab =
        static_cast<std::byte*>(::operator new (kBytes* kSlabBlocks, std::align_val_t{64}));
    for (size_t i = kSlabBlocks - 1; i > 0; --i) local_.blocks[local_.count++] = slab + i * kBytes;
    return slab;
  }
  static void spill(Local& local) noexcept { give_back(local, kBatch); }
  static void give_back(Local& local, size_t count) noexcept {
    Shared& all = shared();
    const std::lock_guard lock(all.mutex);
    for (; count > 0; --count) all.blocks.push_back(local.blocks[--local.count]);
  }

  static inline constinit thread_local Local local_{};
  static inline thread_local Returner returner_{};
};

}  // namespace loomix::engine
