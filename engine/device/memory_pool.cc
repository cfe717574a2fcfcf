// SPDX-License-Identifier: Apache-2.0
//
// Small host blocks: a stack per size class and thread; stacks are filled and emptied in batches from central stacks
// under the pool's mutex, which carve slabs. Everything else: a map from size to cached blocks under the mutex.
#include "engine/device/memory_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

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
namespace {

constexpr size_t kFineBytes = 1024;  // classes are 64 bytes apart up to here
constexpr size_t kFineClasses = kFineBytes / 64;
constexpr size_t kSmallClasses = kFineClasses + 4 * 5;  // 1 KiB to 32 KiB: five doublings
constexpr size_t kSlabBytes = 256 * 1024;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr int64_t kSlack = int64_t{64} << 20;

// Four classes a doubling, eight above 1 MiB.
size_t rounded(size_t bytes) noexcept {
  if (bytes <= kFineBytes) return std::max<size_t>((bytes + 63) & ~size_t{63}, 64);
  const int steps = bytes > (size_t{1} << 20) ? 4 : 3;
  const size_t grain = size_t{1} << (std::bit_width(bytes - 1) - steps);
  return (bytes + grain - 1) & ~(grain - 1);
}

size_t small_class(size_t size) noexcept {  // of a rounded size
  if (size <= kFineBytes) return size / 64 - 1;
  const auto doubling = static_cast<size_t>(std::bit_width(size - 1)) - 11;  // 0: above 1 KiB, up to 2 KiB
  const size_t base = kFineBytes << doubling;
  return kFineClasses + doubling * 4 + (size - base) / (base / 4) - 1;
}

size_t class_bytes(size_t index) noexcept {
  if (index < kFineClasses) return (index + 1) * 64;
  const size_t step = index - kFineClasses;
  const size_t base = kFineBytes << (step / 4);
  return base + base / 4 * (step % 4 + 1);
}

constexpr size_t kMostSlots = 64;
size_t slots_of(size_t index) noexcept { return index < kFineClasses ? kMostSlots : 16; }

std::string human(int64_t bytes) {
  if (bytes >= int64_t{1} << 30) return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / 0x1p30);
  if (bytes >= int64_t{1} << 20) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 0x1p20);
  return fmt::format("{} bytes", bytes);
}

class HostSource final : public MemorySource {
 public:
  void* allocate(size_t bytes) noexcept override {
    const size_t alignment = bytes >= kHugePage ? kHugePage : 64;
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
    if (bytes >= kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
  }
  void free(void* memory, size_t) noexcept override { std::free(memory); }
  size_t capacity() const noexcept override {
    return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  }
};

std::atomic<uint64_t> g_next_pool{1};

}  // namespace

std::unique_ptr<MemorySource> make_host_source() { return std::make_unique<HostSource>(); }

struct MemoryPool::ThreadCache {
  struct Stack {
    std::atomic<uint32_t> count{0};  // written by the owner only
    std::array<void*, kMostSlots> blocks;
  };
  std::array<Stack, kSmallClasses> stacks;
  bool owned = true;  // guarded by the pool's mutex
};

struct MemoryPool::Core {
  struct Block {
    void* memory;
    std::vector<TokenRef> tokens;
  };
  struct Live {
    size_t bytes;
    std::string label;
  };

  const std::string name;
  const std::unique_ptr<MemorySource> source;
  const int64_t bound;
  const uint64_t id = g_next_pool.fetch_add(1);
  const bool on_host;

  mutable std::mutex mutex;  // guards everything below
  std::function<bool()> reclaimer;
  std::array<std::vector<void*>, kSmallClasses> small;
  std::vector<void*> slabs;
  std::byte* slab = nullptr;  // the rest of the last slab
  size_t slab_left = 0;
  std::vector<std::unique_ptr<ThreadCache>> caches;
  std::multimap<size_t, Block> large;
  std::unordered_map<void*, Live> named;
  int64_t small_out = 0;  // bytes of small blocks in use or in threads' caches
  int64_t large_out = 0;
  int64_t large_cached = 0;
  int64_t reserved = 0;
  int64_t peak = 0;

  Core(std::string pool_name, std::unique_ptr<MemorySource> from, int64_t most)
      : name(std::move(pool_name)),
        source(std::move(from)),
        bound(most > 0 ? most : static_cast<int64_t>(source->capacity())),
        on_host(source->on_host()) {}
  ~Core() {
    for (auto& [bytes, block] : large) {
      for (const TokenRef& token : block.tokens) token->wait();
      give_to_source(block.memory, bytes);
    }
    for (void* memory : slabs) give_to_source(memory, kSlabBytes);
  }

  void give_to_source(void* memory, size_t bytes) noexcept {
    if (on_host) ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    source->free(memory, bytes);
  }
  void note_peak() noexcept { peak = std::max(peak, small_out + large_out); }

  void fetch(size_t index, ThreadCache::Stack& stack);
  void put_back(size_t index, ThreadCache::Stack& stack, uint32_t count) noexcept;
  void* carve(size_t bytes);
  void* take_large(size_t bytes, const DeviceQueue* user);
  void* find_cached(size_t bytes, const DeviceQueue* user);
  bool make_room(int64_t bytes);
  void release_large(int64_t wanted) noexcept;
  TokenRef pending_token() const;
  [[noreturn]] void throw_out_of_memory(size_t bytes) const;
};

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
    for (size_t i = 0; i < kSmallClasses; ++i) {
      auto& stack = entry.cache->stacks[i];
      entry.core->put_back(i, stack, stack.count.load(std::memory_order_relaxed));
    }
    entry.cache->owned = false;
  }
}

MemoryPool::MemoryPool(std::string name, std::unique_ptr<MemorySource> source, int64_t bound)
    : core_(std::make_shared<Core>(std::move(name), std::move(source), bound)) {}
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

void* MemoryPool::allocate(size_t bytes, const DeviceQueue* user) {
  const size_t size = rounded(bytes);
  if (size > kSmallBytes || !core_->on_host) return core_->take_large(size, user);
  const size_t index = small_class(size);
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

void MemoryPool::free(void* memory, size_t bytes, std::span<const TokenRef> tokens) noexcept {
  const size_t size = rounded(bytes);
  const bool busy =
      std::any_of(tokens.begin(), tokens.end(), [](const TokenRef& token) { return !token->done(); });
  if (core_->on_host && !busy) ASAN_POISON_MEMORY_REGION(memory, size);
  if (size <= kSmallBytes && core_->on_host && !busy) {
    const size_t index = small_class(size);
    ThreadCache::Stack& stack = this_thread().stacks[index];
    uint32_t count = stack.count.load(std::memory_order_relaxed);
    if (count == slots_of(index)) [[unlikely]] {
      const std::lock_guard lock(core_->mutex);
      core_->put_back(index, stack, count / 2);
      count = stack.count.load(std::memory_order_relaxed);
    }
    stack.blocks[count] = memory;
    stack.count.store(count + 1, std::memory_order_relaxed);
    return;
  }
  Core::Block block{memory, {}};
  for (const TokenRef& token : tokens) {
    if (!token->done()) block.tokens.push_back(token);
  }
  if (size <= kSmallBytes && core_->on_host) {
    // Small blocks have no place for tokens: the block goes back when the last one is done.
    if (!block.tokens.empty()) {
      const TokenRef token = block.tokens.back();
      block.tokens.pop_back();
      if (token->subscribe(
              [this, memory, bytes, rest = std::move(block.tokens)] { free(memory, bytes, rest); }))
        return;
    }
    free(memory, bytes, block.tokens);
    return;
  }
  const std::lock_guard lock(core_->mutex);
  if (size >= kNamedBytes) core_->named.erase(memory);
  core_->large_out -= static_cast<int64_t>(size);
  core_->large_cached += static_cast<int64_t>(size);
  core_->large.emplace(size, std::move(block));
}

void MemoryPool::Core::fetch(size_t index, ThreadCache::Stack& stack) {
  const size_t bytes = class_bytes(index);
  const std::lock_guard lock(mutex);
  const auto wanted = static_cast<uint32_t>(slots_of(index) / 2);
  uint32_t count = 0;
  while (count < wanted && !small[index].empty()) {
    stack.blocks[count++] = small[index].back();
    small[index].pop_back();
  }
  while (count < wanted && (count == 0 || slab_left >= bytes)) stack.blocks[count++] = carve(bytes);
  std::reverse(stack.blocks.begin(), stack.blocks.begin() + count);  // ascending addresses when popped
  stack.count.store(count, std::memory_order_relaxed);
  small_out += static_cast<int64_t>(count * bytes);
  note_peak();
}

void MemoryPool::Core::put_back(size_t index, ThreadCache::Stack& stack, uint32_t count) noexcept {
  uint32_t left = stack.count.load(std::memory_order_relaxed);
  small_out -= static_cast<int64_t>(count * class_bytes(index));
  for (; count > 0; --count) small[index].push_back(stack.blocks[--left]);
  stack.count.store(left, std::memory_order_relaxed);
}

void* MemoryPool::Core::carve(size_t bytes) {
  if (slab_left < bytes) {
    if (!make_room(static_cast<int64_t>(kSlabBytes))) throw_out_of_memory(bytes);
    slab = static_cast<std::byte*>(source->allocate(kSlabBytes));
    if (slab == nullptr) throw_out_of_memory(bytes);
    reserved += static_cast<int64_t>(kSlabBytes);
    slabs.push_back(slab);
    slab_left = kSlabBytes;
    ASAN_POISON_MEMORY_REGION(slab, kSlabBytes);
  }
  void* const memory = slab;
  slab += bytes;
  slab_left -= bytes;
  return memory;
}

void* MemoryPool::Core::take_large(size_t bytes, const DeviceQueue* user) {
  const auto size = static_cast<int64_t>(bytes);
  for (;;) {
    TokenRef pending;
    std::function<bool()> ask;
    {
      const std::lock_guard lock(mutex);
      void* memory = find_cached(bytes, user);
      if (memory == nullptr && make_room(size)) {
        memory = source->allocate(bytes);
        if (memory == nullptr) {
          release_large(INT64_MAX);
          memory = source->allocate(bytes);
        }
        if (memory != nullptr) reserved += size;
      }
      if (memory != nullptr) {
        large_out += size;
        note_peak();
        if (bytes >= kNamedBytes) named.emplace(memory, Live{bytes, {}});
        if (on_host) ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
        return memory;
      }
      pending = pending_token();
      ask = reclaimer;
    }
    if (pending) {
      pending->wait();
    } else if (!ask || !ask()) {
      const std::lock_guard lock(mutex);
      throw_out_of_memory(bytes);
    }
  }
}

// A cached block of up to an eighth more that `user` may touch at once.
void* MemoryPool::Core::find_cached(size_t bytes, const DeviceQueue* user) {
  for (auto it = large.lower_bound(bytes); it != large.end() && it->first == bytes; ++it) {
    const bool free_now = std::all_of(
        it->second.tokens.begin(), it->second.tokens.end(),
        [&](const TokenRef& token) { return token->done() || (user != nullptr && &token->queue() == user); });
    if (!free_now) continue;
    void* const memory = it->second.memory;
    large.erase(it);
    large_cached -= static_cast<int64_t>(bytes);
    return memory;
  }
  return nullptr;
}

// Gives cached blocks up as needed for `bytes` more, so that what is held stays within the bound and, as far as it is
// cached, near the largest use seen.
bool MemoryPool::Core::make_room(int64_t bytes) {
  const int64_t soft = std::min(bound, std::max(peak + peak / 2, small_out + large_out + bytes) + kSlack);
  if (reserved + bytes > soft) release_large(reserved + bytes - soft);
  return reserved + bytes <= bound;
}

// Largest first; blocks that a device still uses stay.
void MemoryPool::Core::release_large(int64_t wanted) noexcept {
  for (auto it = large.end(); it != large.begin() && wanted > 0;) {
    --it;
    const bool idle = std::all_of(it->second.tokens.begin(), it->second.tokens.end(),
                                  [](const TokenRef& token) { return token->done(); });
    if (!idle) continue;
    const auto size = static_cast<int64_t>(it->first);
    give_to_source(it->second.memory, it->first);
    reserved -= size;
    large_cached -= size;
    wanted -= size;
    it = large.erase(it);
  }
}

TokenRef MemoryPool::Core::pending_token() const {
  for (const auto& [bytes, block] : large) {
    for (const TokenRef& token : block.tokens) {
      if (!token->done()) return token;
    }
  }
  return {};
}

void MemoryPool::Core::throw_out_of_memory(size_t bytes) const {
  std::vector<const Live*> largest;
  for (const auto& [memory, live] : named) largest.push_back(&live);
  std::sort(largest.begin(), largest.end(), [](const Live* a, const Live* b) { return a->bytes > b->bytes; });
  std::string list;
  for (size_t i = 0; i < std::min<size_t>(largest.size(), 8); ++i) {
    list += fmt::format("{}{}{}", i ? ", " : "", human(static_cast<int64_t>(largest[i]->bytes)),
                        largest[i]->label.empty() ? "" : fmt::format(" ({})", largest[i]->label));
  }
  throw MemoryError(
      fmt::format("[memory] {} has no {} left: {} are in use, of at most {}.{}{} Use smaller batches, or "
                  "raise the pool's bound.",
                  name, human(static_cast<int64_t>(bytes)), human(small_out + large_out), human(bound),
                  list.empty() ? "" : " The largest arrays: ", list.empty() ? "" : list + "."));
}

void MemoryPool::set_label(void* memory, std::string label) {
  const std::lock_guard lock(core_->mutex);
  const auto it = core_->named.find(memory);
  if (it != core_->named.end()) it->second.label = std::move(label);
}

MemoryStats MemoryPool::stats() const {
  const std::lock_guard lock(core_->mutex);
  int64_t in_threads = 0;
  for (const auto& cache : core_->caches) {
    for (size_t i = 0; i < kSmallClasses; ++i) {
      in_threads +=
          static_cast<int64_t>(cache->stacks[i].count.load(std::memory_order_relaxed) * class_bytes(i));
    }
  }
  int64_t central = 0;
  for (size_t i = 0; i < kSmallClasses; ++i) {
    central += static_cast<int64_t>(core_->small[i].size() * class_bytes(i));
  }
  return {core_->small_out - in_threads + core_->large_out, in_threads + central + core_->large_cached,
          core_->reserved, core_->peak};
}

int64_t MemoryPool::bound() const noexcept { return core_->bound; }

void MemoryPool::release_cached() {
  const std::lock_guard lock(core_->mutex);
  core_->release_large(INT64_MAX);
}

void MemoryPool::set_reclaimer(std::function<bool()> reclaimer) {
  const std::lock_guard lock(core_->mutex);
  core_->reclaimer = std::move(reclaimer);
}

void MemoryPool::lock_for_fork() noexcept { core_->mutex.lock(); }
void MemoryPool::unlock_after_fork() noexcept { core_->mutex.unlock(); }

}  // namespace loomix::engine
