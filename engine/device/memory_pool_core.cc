// SPDX-License-Identifier: Apache-2.0
#include "engine/device/memory_pool_core.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sanitizer/asan_interface.h>

#include "base/error.h"

namespace loomix::engine {
namespace {

constexpr int64_t kSlack = int64_t{64} << 20;
constexpr size_t kNamedOwners = 8;
constexpr int64_t kPatience = 10'000'000'000;  // nanoseconds that an allocation waits in all

std::atomic<uint64_t> g_next_pool{1};

int64_t now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

bool is_done(const TokenRef& token) noexcept { return token->done(); }

bool is_idle(const std::vector<TokenRef>& tokens) noexcept {
  return std::all_of(tokens.begin(), tokens.end(), is_done);
}

std::string human(int64_t bytes) {
  if (bytes >= int64_t{1} << 30) return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / 0x1p30);
  if (bytes >= int64_t{1} << 20) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 0x1p20);
  return fmt::format("{} bytes", bytes);
}

}  // namespace

MemoryPool::Core::Core(std::string pool_name, std::unique_ptr<MemorySource> from, PoolLimits limits)
    : name(std::move(pool_name)),
      source(std::move(from)),
      bound(limits.held > 0 ? limits.held : static_cast<int64_t>(source->capacity())),
      cache_bound(limits.exact         ? 0
                  : limits.cached >= 0 ? limits.cached
                                       : INT64_MAX),
      id(g_next_pool.fetch_add(1)),
      on_host(source->on_host()),
      exact(limits.exact) {}

MemoryPool::Core::~Core() {
  for (auto& [size, block] : large) {
    for (const TokenRef& token : block.tokens) token->wait();
  }
  release_large(INT64_MAX);
  for (void* memory : slabs) {
    if (on_host) ASAN_UNPOISON_MEMORY_REGION(memory, kSlabBytes);
    source->free(memory, kSlabBytes);
  }
}

int64_t MemoryPool::Core::reserved() const noexcept {
  return large_held.load(std::memory_order_relaxed) + static_cast<int64_t>(slabs.size() * kSlabBytes);
}

int64_t MemoryPool::Core::large_cached() const noexcept {
  return large_held.load(std::memory_order_relaxed) - large_out.load(std::memory_order_relaxed);
}

// ---- small blocks -----------------------------------------------------------------------------------------------

void MemoryPool::Core::fetch(size_t index, ThreadCache::Stack& stack) {
  const size_t bytes = size_class::small_class_bytes(index);
  std::unique_lock lock(mutex);
  bool hope = true;
  for (int64_t deadline = 0; small[index].empty() && slab_left < bytes && !add_slab();) {
    if (!hope) throw_out_of_memory(bytes);
    hope = wait_for_memory(lock, kSlabBytes, deadline);
  }
  const uint32_t wanted = slots_of(index) / 2;
  const uint32_t held =
      stack.count.load(std::memory_order_relaxed);  // none, but that a wait may have run code
  uint32_t count = held;
  for (; count < wanted && !small[index].empty(); ++count) {
    stack.blocks[count] = small[index].back();
    small[index].pop_back();
  }
  for (; count < wanted && slab_left >= bytes; ++count) {
    stack.blocks[count] = slab;
    slab += bytes;
    slab_left -= bytes;
  }
  std::reverse(stack.blocks.begin(), stack.blocks.begin() + count);  // ascending addresses when popped
  stack.count.store(count, std::memory_order_relaxed);
  const auto fetched = static_cast<int64_t>((count - held) * bytes);
  note_peak(small_out.fetch_add(fetched, std::memory_order_relaxed) + fetched +
            large_out.load(std::memory_order_relaxed));
}

void MemoryPool::Core::put_back(size_t index, ThreadCache::Stack& stack, uint32_t count) noexcept {
  uint32_t left = stack.count.load(std::memory_order_relaxed);
  small_out.fetch_sub(static_cast<int64_t>(count * size_class::small_class_bytes(index)),
                      std::memory_order_relaxed);
  for (; count > 0; --count) small[index].push_back(stack.blocks[--left]);
  stack.count.store(left, std::memory_order_relaxed);
}

bool MemoryPool::Core::add_slab() {
  auto* const memory = static_cast<std::byte*>(from_source(kSlabBytes));
  if (memory == nullptr) return false;
  slabs.push_back(memory);
  slab = memory;
  slab_left = kSlabBytes;
  ASAN_POISON_MEMORY_REGION(slab, kSlabBytes);
  return true;
}

// ---- large blocks -----------------------------------------------------------------------------------------------

void* MemoryPool::Core::take_large(size_t size, const DeviceQueue* user, std::vector<TokenRef>* pending) {
  void* memory = !exact && size_class::fits_shelf(size) ? shelf.take(size) : nullptr;
  if (memory == nullptr) {
    std::unique_lock lock(mutex);
    bool hope =
        true;  // without, there is one more try: the last task may have ended between the try and the wait
    for (int64_t deadline = 0;;) {
      memory = find_cached(size, user, pending, Which::idle_or_users);
      if (memory == nullptr) memory = fresh(size);
      if (memory == nullptr && pending) memory = find_cached(size, user, pending, Which::any);
      if (memory != nullptr) break;
      if (!hope) throw_out_of_memory(size);
      hope = wait_for_memory(lock, size, deadline);
    }
  }
  const auto bytes = static_cast<int64_t>(size);
  note_peak(large_out.fetch_add(bytes, std::memory_order_relaxed) + bytes +
            small_out.load(std::memory_order_relaxed));
  if (on_host) ASAN_UNPOISON_MEMORY_REGION(memory, size);
  return memory;
}

void MemoryPool::Core::give_large(void* memory, size_t size, std::span<const TokenRef> tokens) noexcept {
  const bool idle = std::all_of(tokens.begin(), tokens.end(), is_done);
  if (on_host && idle) ASAN_POISON_MEMORY_REGION(memory, size);
  large_out.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
  if (idle && size_class::fits_shelf(size) && large_cached() <= cache_bound && shelf.put(memory, size))
    return;
  Block block{memory, {}};
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(block.tokens),
               [](const TokenRef& token) { return !token->done(); });
  const std::lock_guard lock(mutex);
  large.emplace(size, std::move(block));
  const int64_t cached = large_cached();
  if (cached > cache_bound) release_large(cached - cache_bound);
}

// A cached block that is idle or that `user` uses; or any, where the caller waits for its tokens.
void* MemoryPool::Core::find_cached(size_t size, const DeviceQueue* user, std::vector<TokenRef>* pending,
                                    Which which) {
  if (exact) return nullptr;
  const auto may_take = [&](const TokenRef& token) {
    return token->done() || (pending && (which == Which::any || &token->queue() == user));
  };
  for (auto it = large.lower_bound(size); it != large.end() && it->first == size; ++it) {
    Block& block = it->second;
    if (!std::all_of(block.tokens.begin(), block.tokens.end(), may_take)) continue;
    for (TokenRef& token : block.tokens) {
      if (!token->done()) pending->push_back(std::move(token));
    }
    void* const memory = block.memory;
    large.erase(it);
    return memory;
  }
  return nullptr;
}

// Null if there is none within the bound.
void* MemoryPool::Core::fresh(size_t size) {
  void* const memory = from_source(size);
  if (memory != nullptr) large_held.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  return memory;
}

void* MemoryPool::Core::from_source(size_t size) {
  if (!make_room(static_cast<int64_t>(size))) return nullptr;
  void* memory = source->allocate(size);
  if (memory == nullptr) {
    release_large(INT64_MAX);
    memory = source->allocate(size);
  }
  return memory;
}

// Gives cached blocks up as needed for `bytes` more, so that what is held stays within the bound and, as far as it is
// cached, near the largest use seen.
bool MemoryPool::Core::make_room(int64_t bytes) {
  const int64_t most = peak.load(std::memory_order_relaxed);
  const int64_t out = small_out.load(std::memory_order_relaxed) + large_out.load(std::memory_order_relaxed);
  const int64_t soft = std::min(bound, std::max(most + most / 2, out + bytes) + kSlack);
  if (reserved() + bytes > soft) release_large(reserved() + bytes - soft);
  return reserved() + bytes <= bound;
}

// Largest first; blocks that a device still uses stay.
void MemoryPool::Core::release_large(int64_t wanted) noexcept {
  const auto give_up = [&](void* memory, size_t size) {
    if (on_host) ASAN_UNPOISON_MEMORY_REGION(memory, size);
    source->free(memory, size);
    large_held.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
    wanted -= static_cast<int64_t>(size);
  };
  for (auto it = large.end(); it != large.begin() && wanted > 0;) {
    --it;
    if (!is_idle(it->second.tokens)) continue;
    give_up(it->second.memory, it->first);
    it = large.erase(it);
  }
  size_t size = 0;
  while (wanted > 0) {
    void* const memory = shelf.take_largest(size);
    if (memory == nullptr) return;
    give_up(memory, size);
  }
}

// Lets the mutex go while it waits. False when nothing can be hoped for, or it has taken long: others may take whatever
// is freed.
bool MemoryPool::Core::wait_for_memory(std::unique_lock<std::mutex>& lock, size_t size, int64_t& deadline) {
  if (static_cast<int64_t>(size) > bound) return false;
  const int64_t now = now_ns();
  if (deadline == 0) deadline = now + kPatience;
  if (now > deadline) return false;
  TokenRef pending;
  for (const auto& [block_size, block] : large) {
    const auto token = std::find_if_not(block.tokens.begin(), block.tokens.end(), is_done);
    if (token == block.tokens.end()) continue;
    pending = *token;
    break;
  }
  const Reclaimer ask = reclaimer;
  lock.unlock();
  bool hope = true;
  if (ask) {
    hope = ask(pending.get());
  } else if (pending) {
    pending->wait();
  } else {
    hope = false;
  }
  lock.lock();
  return hope;
}

void MemoryPool::Core::throw_out_of_memory(size_t bytes) const {
  std::vector<std::pair<size_t, const MemoryOwner*>> largest;
  for (const auto& [owner, held] : owners) largest.emplace_back(held, owner);
  std::sort(largest.begin(), largest.end(), std::greater<>());
  if (largest.size() > kNamedOwners) largest.resize(kNamedOwners);
  std::string list;
  for (const auto& [held, owner] : largest) {
    list += fmt::format("{}{} ({})", list.empty() ? " The largest arrays: " : ", ",
                        human(static_cast<int64_t>(held)), owner->describe());
  }
  const int64_t out = small_out.load() + large_out.load();
  const std::optional<size_t> free = source->left();
  const std::string left =
      free ? fmt::format(", and the device has {} free", human(static_cast<int64_t>(*free))) : "";
  throw MemoryError(
      fmt::format("[memory] {} has no {} left: {} are in use, of at most {}{}.{}{} Use smaller batches, or "
                  "raise the pool's bound.",
                  name, human(static_cast<int64_t>(bytes)), human(out), human(bound), left, list,
                  list.empty() ? "" : "."));
}

void MemoryPool::Core::note_peak(int64_t out) noexcept {
  int64_t most = peak.load(std::memory_order_relaxed);
  while (out > most && !peak.compare_exchange_weak(most, out, std::memory_order_relaxed)) {}
}

MemoryStats MemoryPool::Core::stats() const {
  int64_t in_threads = 0;
  for (const auto& cache : caches) {
    for (size_t i = 0; i < size_class::kSmallClasses; ++i) {
      in_threads += static_cast<int64_t>(cache->stacks[i].count.load(std::memory_order_relaxed) *
                                         size_class::small_class_bytes(i));
    }
  }
  int64_t central = 0;
  for (size_t i = 0; i < size_class::kSmallClasses; ++i) {
    central += static_cast<int64_t>(small[i].size() * size_class::small_class_bytes(i));
  }
  return {small_out.load(std::memory_order_relaxed) - in_threads + large_out.load(std::memory_order_relaxed),
          in_threads + central + large_cached(), reserved(), peak.load(std::memory_order_relaxed)};
}

}  // namespace loomix::engine
