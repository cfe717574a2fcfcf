// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/device/completion_token.h"

namespace loomix {

// `managed` keeps a host and a device copy, synchronised explicitly; `cuda_managed` is CUDA's unified memory.
enum class MemoryKind : uint8_t { host, pinned, device, managed, cuda_managed };
const char* name_of(MemoryKind kind);

}  // namespace loomix

namespace loomix::engine {

// Where a pool gets its memory. Thread-safe.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  virtual void* allocate(size_t bytes) noexcept = 0;  // aligned to 64 bytes; null if there is none
  virtual void free(void* memory, size_t bytes) noexcept = 0;
  virtual size_t capacity() const noexcept = 0;  // bytes that it has in all
  virtual bool on_host() const noexcept { return true; }
};
std::unique_ptr<MemorySource> make_host_source();

struct MemoryStats {
  int64_t in_use = 0;    // bytes handed out, rounded up to size classes
  int64_t cached = 0;    // bytes kept for reuse
  int64_t reserved = 0;  // bytes held from the source: in_use + cached + what small blocks have not used yet
  int64_t peak = 0;      // largest in_use; small blocks are counted when a thread fetches them in batches
};

// Memory of one kind on one device, kept for reuse. Sizes are rounded up to classes (at most 25 % apart, 12.5 % above
// 1 MiB). Blocks up to kSmallBytes on hosts come from the calling thread's cache: about 10 ns. A block freed with
// tokens is given at once to the queue that all its pending tokens belong to, and to others once they are done.
class MemoryPool {
 public:
  static constexpr size_t kSmallBytes = 32768;

  // `bound`: bytes it may hold from the source; 0 for all that the source has.
  MemoryPool(std::string name, std::unique_ptr<MemorySource> source, int64_t bound);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Never null; aligned to 64 bytes; uninitialised. `user` is the queue whose tasks will touch the block first. When
  // memory is short it gives back what is cached, waits for pending tokens, then asks the reclaimer; at last throws
  // MemoryError with the largest blocks.
  void* allocate(size_t bytes, const DeviceQueue* user = nullptr);
  // `bytes` as at allocate(); `tokens`: device work that still uses the block.
  void free(void* memory, size_t bytes, std::span<const TokenRef> tokens = {}) noexcept;

  // Names a block of at least kNamedBytes for MemoryError.
  static constexpr size_t kNamedBytes = size_t{1} << 20;
  void set_label(void* memory, std::string label);

  MemoryStats stats() const;
  int64_t bound() const noexcept;
  // Returns cached blocks above kSmallBytes to the source.
  void release_cached();
  // Called when memory is short; waits for work that may free some. False: nothing can be hoped for.
  void set_reclaimer(std::function<bool()> reclaimer);
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;

 private:
  struct Core;
  struct ThreadCache;
  struct ThreadCaches;
  ThreadCache& this_thread();
  const std::shared_ptr<Core> core_;  // threads that have a cache keep it alive
};

}  // namespace loomix::engine
