// SPDX-License-Identifier: Apache-2.0
//
// Small host blocks: a stack per size class and thread; stacks are filled and emptied in batches from central stacks
// under the pool's mutex, which carve slabs. Larger ones that are idle: a shelf of atomic slots (block_shelf.h).
// Everything else: a map from size to cached blocks under the mutex (memory_pool_core.cc).
#include "engine/device/memory_pool.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <sanitizer/asan_interface.h>

#include "engine/device/memory_pool_core.h"

namespace loomix {

const char* name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::host: return "host";
    case MemoryKind::pinned: return "pinned";
    case MemoryKind::device: return "device";
    case MemoryKind::managed: return "managed";
    case MemoryKind::cuda_managed: return "cuda_managed";
  }
  return "unknown";
}

}  // namespace loomix

namespace loomix::engine {

struct MemoryPool::ThreadCaches {
  struct Entry {
    std::shared_ptr<Core> core;
    ThreadCache* cache;
  };
  std::vector<Entry> all;
  ~ThreadCaches();
};

namespace {

struct LastCache {
  uint64_t pool = 0;
  void* cache = nullptr;
};
constinit thread_local LastCache t_last;

}  // namespace

MemoryPool::ThreadCaches::~ThreadCaches() {
  t_last = {};
  for (Entry& entry : all) {
    const std::lock_guard lock(entry.core->mutex);
    for (size_t i = 0; i < size_class::kSmallClasses; ++i) {
      auto& stack = entry.cache->stacks[i];
      entry.core->put_back(i, stack, stack.count.load(std::memory_order_relaxed));
    }
    entry.cache->owned = false;
  }
}

MemoryPool::MemoryPool(std::string name, std::unique_ptr<MemorySource> source, PoolLimits limits)
    : core_(std::make_shared<Core>(std::move(name), std::move(source), limits)) {}
MemoryPool::~MemoryPool() { core_->reclaimer = nullptr; }

MemoryPool::ThreadCache& MemoryPool::this_thread() {
  if (t_last.pool == core_->id) [[likely]]
    return *static_cast<ThreadCache*>(t_last.cache);
  thread_local ThreadCaches caches;
  ThreadCache* cache = nullptr;
  for (const auto& entry : caches.all) {
    if (entry.core == core_) cache = entry.cache;
  }
  if (cache == nullptr) {
    std::erase_if(caches.all,
                  [](const auto& entry) { return entry.core.use_count() == 1; });  // pools that are gone
    const std::lock_guard lock(core_->mutex);
    for (const auto& old : core_->caches) {
      if (!old->owned) cache = old.get();
    }
    if (cache == nullptr) {
      core_->caches.push_back(std::make_unique<ThreadCache>());
      cache = core_->caches.back().get();
    }
    cache->owned = true;
    caches.all.push_back({core_, cache});
  }
  t_last = {core_->id, cache};
  return *cache;
}

// ---- small blocks -----------------------------------------------------------------------------------------------

void* MemoryPool::allocate_small(size_t bytes, size_t size) {
  const size_t index = size_class::small_class(size);
  ThreadCache::Stack& stack = this_thread().stacks[index];
  uint32_t count = stack.count.load(std::memory_order_relaxed);
  if (count == 0) [[unlikely]] {
    core_->fetch(index, stack);
    count = stack.count.load(std::memory_order_relaxed);
  }
  void* const memory = stack.blocks[--count];
  stack.count.store(count, std::memory_order_relaxed);
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
  return memory;
}

void MemoryPool::free_small(void* memory, size_t size) noexcept {
  ASAN_POISON_MEMORY_REGION(memory, size);
  const size_t index = size_class::small_class(size);
  ThreadCache::Stack& stack = this_thread().stacks[index];
  uint32_t count = stack.count.load(std::memory_order_relaxed);
  if (count == slots_of(index)) [[unlikely]] {
    const std::lock_guard lock(core_->mutex);
    core_->put_back(index, stack, count / 2);
    count = stack.count.load(std::memory_order_relaxed);
  }
  stack.blocks[count] = memory;
  stack.count.store(count + 1, std::memory_order_relaxed);
}

// Small blocks have no place for tokens: the block goes back when the last one is done.
void MemoryPool::free_when_done(void* memory, size_t bytes, std::vector<TokenRef> tokens) noexcept {
  while (!tokens.empty()) {
    const TokenRef token = std::move(tokens.back());
    tokens.pop_back();
    if (token->done()) continue;
    if (token->subscribe([this, memory, bytes, tokens] { free_when_done(memory, bytes, tokens); })) return;
  }
  free_small(memory, size_class::rounded(bytes));
}

// ---- the door ---------------------------------------------------------------------------------------------------

void* MemoryPool::allocate(size_t bytes) {
  const size_t size = core_->block_bytes(bytes);
  if (size <= kSmallBytes && core_->on_host) return allocate_small(bytes, size);
  return core_->take_large(size, nullptr, nullptr);
}

void* MemoryPool::allocate(size_t bytes, const DeviceQueue* user, std::vector<TokenRef>& pending) {
  const size_t size = core_->block_bytes(bytes);
  if (size <= kSmallBytes && core_->on_host) return allocate_small(bytes, size);
  return core_->take_large(size, user, &pending);
}

void MemoryPool::free(void* memory, size_t bytes, std::span<const TokenRef> tokens) noexcept {
  const size_t size = core_->block_bytes(bytes);
  if (size > kSmallBytes || !core_->on_host) {
    core_->give_large(memory, size, tokens);
  } else if (tokens.empty()) {
    free_small(memory, size);
  } else {
    free_when_done(memory, bytes, {tokens.begin(), tokens.end()});
  }
}

void MemoryPool::add_owner(const MemoryOwner& owner, size_t bytes) {
  const std::lock_guard lock(core_->mutex);
  core_->owners[&owner] = bytes;
}

void MemoryPool::remove_owner(const MemoryOwner& owner) noexcept {
  const std::lock_guard lock(core_->mutex);
  core_->owners.erase(&owner);
}

MemoryStats MemoryPool::stats() const {
  const std::lock_guard lock(core_->mutex);
  return core_->stats();
}

int64_t MemoryPool::bound() const noexcept { return core_->bound; }
const MemorySource& MemoryPool::source() const noexcept { return *core_->source; }

void MemoryPool::release_cached() {
  const std::lock_guard lock(core_->mutex);
  core_->release_large(INT64_MAX);
}

void MemoryPool::set_reclaimer(Reclaimer reclaimer) {
  const std::lock_guard lock(core_->mutex);
  core_->reclaimer = std::move(reclaimer);
}

void MemoryPool::lock_for_fork() noexcept { core_->mutex.lock(); }
void MemoryPool::unlock_after_fork() noexcept { core_->mutex.unlock(); }

}  // namespace loomix::engine
