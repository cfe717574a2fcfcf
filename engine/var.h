// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ref_counted.h"
#include "engine/poison.h"
#include "engine/spin_lock.h"

namespace loomix::engine {

class CompletionToken;
class TokenSet;
struct AccessNode;

// The ordering token of one piece of data. It stays alive while tasks that name it are pending, and belongs to the
// engine that made it. One cache line; making one costs a pop from a thread's free list.
class alignas(64) Var final : public RefCounted {
 public:
  Var() noexcept;
  ~Var() override;

  // Data writes pushed so far, in program order.
  uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }

  // Device work that may still use the data: what a buffer goes back to its pool with.
  std::vector<Ref<CompletionToken>> pending_tokens() const;
  // Device work that still uses the memory which the data gets: the first to write it waits for that.
  void add_pending(std::vector<Ref<CompletionToken>> tokens);

  static void* operator new(size_t bytes);
  static void operator delete(void* memory) noexcept;

 private:
  friend class VarQueue;
  friend class NaiveEngine;
  friend class ThreadedEngine;

  // By the holder of exclusive access, and at the end.
  void set_poison(Ref<Poison> poison) noexcept;

  mutable SpinLock lock_;                   // guards what follows, up to `poison_`
  uint32_t readers_ = 0;                    // granted and not yet released
  std::atomic<AccessNode*> tail_{nullptr};  // last of the chain that starts at the active writer or at head_
  AccessNode* head_ = nullptr;              // first waiter, while readers are active
  std::atomic<uint64_t> version_{0};
  Ref<Poison> poison_;                // written by the holder of exclusive access only
  std::unique_ptr<TokenSet> tokens_;  // pending device work; null on hosts. Guarded by lock_
};

using VarRef = Ref<Var>;

}  // namespace loomix::engine
