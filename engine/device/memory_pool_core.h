// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/device/block_shelf.h"
#include "engine/device/memory_pool.h"

namespace loomix::engine {

inline constexpr size_t kMostSlots = 64;
constexpr uint32_t slots_of(size_t index) noexcept {
  return index < size_class::kFineClasses ? kMostSlots : 16;
}

struct MemoryPool::ThreadCache {
  struct Stack {
    std::atomic<uint32_t> count{0};  // written by the owner only
    std::array<void*, kMostSlots> blocks;
  };
  std::array<Stack, size_class::kSmallClasses> stacks;
  bool owned = true;  // guarded by the pool's mutex
};

// What a pool's threads share. Counts of bytes are atomic, as large blocks come and go without the mutex:
//   large_held = large_out + what is on the shelf or in `large`
struct MemoryPool::Core {
  static constexpr size_t kSlabBytes = 256 * 1024;
  struct Block {
    void* memory;
    std::vector<TokenRef> tokens;
  };

  const std::string name;
  const std::unique_ptr<MemorySource> source;
  const int64_t bound;
  const int64_t cache_bound;
  const uint64_t id;
  const bool on_host;
  const bool exact;

  BlockShelf shelf;
  std::atomic<int64_t> small_out{0};  // bytes of small blocks in use or in threads' caches
  std::atomic<int64_t> large_out{0};
  std::atomic<int64_t> large_held{0};  // in use or cached; written under the mutex
  std::atomic<int64_t> peak{0};

  mutable std::mutex mutex;  // guards everything below
  Reclaimer reclaimer;
  std::array<std::vector<void*>, size_class::kSmallClasses> small;
  std::vector<void*> slabs;
  std::byte* slab = nullptr;  // the rest of the last slab
  size_t slab_left = 0;
  std::vector<std::unique_ptr<ThreadCache>> caches;
  std::multimap<size_t, Block> large;  // cached, and not on the shelf
  std::unordered_map<const MemoryOwner*, size_t> owners;

  size_t block_bytes(size_t bytes) const noexcept {
    const size_t rounded = size_class::rounded(bytes);
    return exact && (!on_host || rounded > size_class::kSmallBytes) ? std::max<size_t>(bytes, 1) : rounded;
  }

  Core(std::string pool_name, std::unique_ptr<MemorySource> from, PoolLimits limits);
  ~Core();

  // Small blocks move between a thread's stack and the central one. fetch() gives at least one.
  void fetch(size_t index, ThreadCache::Stack& stack);
  void put_back(size_t index, ThreadCache::Stack& stack, uint32_t count) noexcept;  // caller holds the mutex

  // Large blocks of a rounded size. Without `pending` only idle ones are given.
  void* take_large(size_t size, const DeviceQueue* user, std::vector<TokenRef>* pending);
  void give_large(void* memory, size_t size, std::span<const TokenRef> tokens) noexcept;

  void release_large(int64_t wanted) noexcept;
  MemoryStats stats() const;

 private:
  enum class Which : uint8_t { idle_or_users, any };
  void* find_cached(size_t size, const DeviceQueue* user, std::vector<TokenRef>* pending, Which which);
  void* fresh(size_t size);
  bool add_slab();
  bool make_room(int64_t bytes);
  int64_t reserved() const noexcept;
  int64_t large_cached() const noexcept;
  void* from_source(size_t size);
  bool wait_for_memory(std::unique_lock<std::mutex>& lock, size_t size, int64_t& deadline);
  void note_peak(int64_t out) noexcept;
  [[noreturn]] void throw_out_of_memory(size_t bytes) const;
};

}  // namespace loomix::engine
