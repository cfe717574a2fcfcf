// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/engine.h"
#include "engine/var.h"

namespace loomix::engine {

struct Task;

// What a task asks of one Var. Bits, kept in the free low bits of the Var's address.
enum AccessBits : uintptr_t {
  kExclusive = 1,   // runs alone
  kReadsData = 2,   // skipped while the Var is poisoned
  kWritesData = 4,  // poisons the Var on failure, heals it on success
  kAccessMask = 63,
};

constexpr uintptr_t bits_of(Access access) noexcept {
  switch (access) {
    case Access::read: return kReadsData;
    case Access::write: return kExclusive | kWritesData;
    case Access::use: return kExclusive;
  }
  return kExclusive;
}

// One pending access; part of a task. `next` is the access pushed after it, once there is one.
struct AccessNode {
  std::atomic<AccessNode*> next;
  Task* task;
  uintptr_t var_and_bits;

  Var& var() const noexcept { return *reinterpret_cast<Var*>(var_and_bits & ~uintptr_t{kAccessMask}); }
  bool exclusive() const noexcept { return (var_and_bits & kExclusive) != 0; }
  bool reads_data() const noexcept { return (var_and_bits & kReadsData) != 0; }
  bool writes_data() const noexcept { return (var_and_bits & kWritesData) != 0; }
};

// The order of the accesses to one Var: readers overlap, an exclusive access runs alone, nobody overtakes.
//
//   idle                 readers_ = 0   tail_ = null   head_ = null
//   readers active       readers_ > 0   tail_ = null   head_ = null
//   ... a writer waits   readers_ > 0   tail_ = last   head_ = that writer -> ... -> last
//   writer active        readers_ = 0   tail_ = last   head_ = null          active writer -> ... -> last
//
// The state changes under the Var's lock, but for one case: a writer that ends and sees a writer behind it hands over
// without the lock, as nothing but its own node changes. `next` is set once, under the lock, before the successor can
// be reached; so an active writer that reads null must take the lock and look again before it leaves the Var idle.
// A busy Var holds a reference to itself.
class VarQueue {
 public:
  static void lock(Var& var) noexcept { var.lock_.lock(); }
  static void unlock(Var& var) noexcept { var.lock_.unlock(); }

  // True if an access pushed now would run at once. Caller holds the lock.
  static bool free_for(const Var& var, bool exclusive) noexcept {
    return var.tail_.load(std::memory_order_relaxed) == nullptr && (!exclusive || var.readers_ == 0);
  }

  // Appends `node`, or makes it active if free_for() says so. Caller holds the lock.
  static void enter(AccessNode& node) noexcept {
    Var& var = node.var();
    AccessNode* const tail = var.tail_.load(std::memory_order_relaxed);
    if (node.writes_data()) {
      var.version_.store(var.version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    if (tail == nullptr) {
      if (var.readers_ == 0) var.retain();
      if (!node.exclusive()) {
        ++var.readers_;
        return;
      }
      if (var.readers_ > 0) var.head_ = &node;
      var.tail_.store(&node, std::memory_order_release);
    } else {
      var.tail_.store(&node, std::memory_order_release);
      tail->next.store(&node, std::memory_order_release);
    }
  }

  // Ends an active access and calls grant(AccessNode&) for each that becomes active by it. No lock is held then; a
  // granted node may be gone when grant returns.
  template <class Grant>
  static void leave(AccessNode& node, Grant&& grant) {
    if (node.exclusive()) {
      AccessNode* next = node.next.load(std::memory_order_acquire);
      if (next != nullptr && next->exclusive()) {
        grant(*next);
      } else {
        leave_exclusive(node, grant);
      }
    } else {
      leave_shared(node.var(), grant);
    }
  }

  static bool has_writer(const Var& var) noexcept {
    return var.tail_.load(std::memory_order_acquire) != nullptr;
  }
  static bool idle(const Var& var) noexcept {
    return var.tail_.load(std::memory_order_relaxed) == nullptr && var.readers_ == 0;
  }

 private:
  template <class Grant>
  static void leave_exclusive(AccessNode& node, Grant&& grant) {
    Var& var = node.var();
    lock(var);
    AccessNode* const next = node.next.load(std::memory_order_relaxed);
    if (next == nullptr) {
      var.tail_.store(nullptr, std::memory_order_release);
      unlock(var);
      var.release();
      return;
    }
    if (next->exclusive()) {
      unlock(var);
      grant(*next);
      return;
    }
    uint32_t readers = 1;
    for (AccessNode* last = next;; ++readers) {
      AccessNode* const after = last->next.load(std::memory_order_relaxed);
      if (after == nullptr) {
        var.tail_.store(nullptr, std::memory_order_release);
        break;
      }
      if (after->exclusive()) {
        var.head_ = after;
        break;
      }
      last = after;
    }
    var.readers_ = readers;
    unlock(var);
    for (AccessNode* reader = next; readers > 0; --readers) {
      AccessNode* const after = readers > 1 ? reader->next.load(std::memory_order_relaxed) : nullptr;
      grant(*reader);
      reader = after;
    }
  }

  template <class Grant>
  static void leave_shared(Var& var, Grant&& grant) {
    lock(var);
    if (--var.readers_ > 0) {
      unlock(var);
      return;
    }
    AccessNode* const writer = std::exchange(var.head_, nullptr);
    unlock(var);
    if (writer != nullptr) {
      grant(*writer);
    } else {
      var.release();
    }
  }
};

}  // namespace loomix::engine
