// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/completion_token.h"
#include "engine/device/size_class.h"

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
  // Aligned to 64 bytes; null if there is none. Throws DeviceError if the device fails otherwise.
  virtual void* allocate(size_t bytes) = 0;
  virtual void free(void* memory, size_t bytes) noexcept = 0;
  virtual size_t capacity() const noexcept = 0;  // bytes that it has in all
  // Bytes that nobody has taken, this program or another; none where that is not known.
  virtual std::optional<size_t> left() const noexcept { return std::nullopt; }
  virtual bool on_host() const noexcept { return true; }
};
std::unique_ptr<MemorySource> make_host_source();

// Holds a block of a pool. `describe` is called under the pool's lock, so it must not use the pool.
class MemoryOwner {
 public:
  virtual std::string describe() const = 0;

 protected:
  ~MemoryOwner() = default;
};

struct PoolLimits {
  int64_t held = 0;     // bytes from the source; 0: all that it has
  int64_t cached = -1;  // bytes of blocks above MemoryPool::kSmallBytes that nobody uses; -1: no limit
  bool exact =
      false;  // each large block is an allocation of the source's, of just its size, and nothing is used twice
};

struct MemoryStats {
  int64_t in_use = 0;    // bytes handed out, rounded up to size classes
  int64_t cached = 0;    // bytes kept for reuse
  int64_t reserved = 0;  // bytes held from the source: in_use + cached + what small blocks have not used yet
  int64_t peak = 0;      // largest in_use; small blocks are counted when a thread fetches them in batches
};

// Memory of one kind on one device, kept for reuse. Sizes are rounded up to classes (at most 25 % apart, 12.5 % above
// 1 MiB). Small blocks on hosts come from the calling thread's cache: about 10 ns; idle ones of up to 16 MiB from a shelf
// without locks: about 30 ns. A block that is freed with tokens is reused before they are done only by who waits for
// them.
class MemoryPool {
 public:
  static constexpr size_t kSmallBytes = size_class::kSmallBytes;

  MemoryPool(std::string name, std::unique_ptr<MemorySource> source, PoolLimits limits = {});
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Never null; aligned to 64 bytes; uninitialised; nothing uses it any more. When memory is short the pool gives back
  // what is cached, waits for pending tokens, then asks the reclaimer; at last it throws MemoryError with the largest
  // arrays.
  void* allocate(size_t bytes);
  // The same for users who let device work wait: appends to `pending` the tokens that the first use has to wait for.
  // Best those of `user`, the queue that is likely to be first, which need no waiting; others when memory is short.
  void* allocate(size_t bytes, const DeviceQueue* user, std::vector<TokenRef>& pending);
  // `bytes` as at allocate(); `tokens`: device work that still uses the block.
  void free(void* memory, size_t bytes, std::span<const TokenRef> tokens = {}) noexcept;

  // Large blocks whose owners tell who they are are named in MemoryError. An owner is removed before it changes or dies.
  static constexpr size_t kNamedBytes = size_t{1} << 20;  // smaller ones are not worth the time
  void add_owner(const MemoryOwner& owner, size_t bytes);
  void remove_owner(const MemoryOwner& owner) noexcept;

  MemoryStats stats() const;
  int64_t bound() const noexcept;
  const MemorySource& source() const noexcept;  // its questions, at any time
  // Returns cached blocks above kSmallBytes to the source.
  void release_cached();
  // Called when memory is short, with device work that lets go of some, or null for whatever else may. It waits; false:
  // nothing can be hoped for.
  using Reclaimer = std::function<bool(CompletionToken* pending)>;
  void set_reclaimer(Reclaimer reclaimer);
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;

 private:
  struct Core;
  struct ThreadCache;
  struct ThreadCaches;
  ThreadCache& this_thread();
  void* allocate_small(size_t bytes, size_t size);
  void free_small(void* memory, size_t size) noexcept;
  void free_when_done(void* memory, size_t bytes, std::vector<TokenRef> tokens) noexcept;
  const std::shared_ptr<Core> core_;  // threads that have a cache keep it alive
};

}  // namespace loomix::engine
