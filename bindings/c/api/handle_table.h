// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

// The handles of c_api.h: each operator makes and ends some, so they cost little.
//
// A handle is the number of a slot and how often the slot was given out, so no number is given twice. Slots lie in chunks that
// double in size and are never freed; a chunk is published once by an atomic pointer, and found from the number alone, without a
// lock. A slot has a lock of its own, held while a pointer is copied. Free slots are a list under one lock; a slot that was given
// out as often as a number can say is not put there again.
namespace loomix::c {

class SpinLock {
 public:
  void lock() noexcept {
    while (busy_.exchange(true, std::memory_order_acquire)) {
      while (busy_.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  void unlock() noexcept { busy_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> busy_{false};
};

// Objects that C knows by handles. Any thread may call; an object that is freed while another thread uses it lives until that is
// done.
template <class T>
class HandleTable {
 public:
  static_assert(sizeof(void*) == 8, "a handle has 64 bits");

  void* add(std::shared_ptr<T> object) {
    const uint64_t index = take_slot();
    Slot& slot = *slot_at(index);
    const std::lock_guard guard(slot.lock);
    ++slot.times;
    slot.object = std::move(object);
    return reinterpret_cast<void*>(slot.times << kIndexBits | index);
  }
  std::shared_ptr<T> at(void* handle) const {
    if (Slot* const slot = slot_of(handle)) {
      const std::lock_guard guard(slot->lock);
      if (slot->object && slot->times == times_of(handle)) return slot->object;
    }
    fail(handle);
  }
  void remove(void* handle) {
    Slot* const slot = slot_of(handle);
    std::shared_ptr<T> last;  // ends after the locks do
    if (slot) {
      const std::lock_guard guard(slot->lock);
      if (slot->times == times_of(handle)) last = std::move(slot->object);
    }
    if (!last) fail(handle);
    if (times_of(handle) == kMostTimes) return;
    const std::lock_guard guard(free_lock_);
    free_.push_back(index_of(handle));
  }

 private:
  static constexpr unsigned kIndexBits = 28, kFirstBits = 10, kChunks = kIndexBits - kFirstBits;
  static constexpr uint64_t kMostTimes = (uint64_t{1} << (64 - kIndexBits)) - 1;
  struct Slot {
    mutable SpinLock lock;
    uint64_t times = 0;  // how often it was given out
    std::shared_ptr<T> object;
  };
  using Chunk = std::unique_ptr<Slot[]>;

  static uint64_t index_of(void* handle) {
    return reinterpret_cast<uint64_t>(handle) & ((uint64_t{1} << kIndexBits) - 1);
  }
  static uint64_t times_of(void* handle) { return reinterpret_cast<uint64_t>(handle) >> kIndexBits; }
  // Chunk 0 has slots 0 to 1023, chunk k those from 1024 * 2^(k-1).
  static unsigned chunk_of(uint64_t index) {
    return static_cast<unsigned>(std::bit_width(index >> kFirstBits));
  }
  static uint64_t begin_of(unsigned chunk) { return chunk ? uint64_t{1} << (kFirstBits + chunk - 1) : 0; }

  Slot* slot_at(uint64_t index) const {
    const unsigned chunk = chunk_of(index);
    if (chunk > kChunks) return nullptr;
    Slot* const slots = published_[chunk].load(std::memory_order_acquire);
    return slots ? &slots[index - begin_of(chunk)] : nullptr;
  }
  Slot* slot_of(void* handle) const { return times_of(handle) > 0 ? slot_at(index_of(handle)) : nullptr; }
  uint64_t take_slot() {
    const std::lock_guard guard(free_lock_);
    if (!free_.empty()) {
      const uint64_t index = free_.back();
      free_.pop_back();
      return index;
    }
    const unsigned chunk = chunk_of(made_);
    LOOMIX_CHECK(made_ >> kIndexBits == 0, StateError, "[handle] there are {} handles; free some.", made_);
    if (!chunks_[chunk]) {
      chunks_[chunk] = std::make_unique<Slot[]>(chunk ? begin_of(chunk) : begin_of(1));
      published_[chunk].store(chunks_[chunk].get(), std::memory_order_release);
    }
    return made_++;
  }
  [[noreturn]] static void fail(void* handle) {
    LOOMIX_CHECK(handle != nullptr, ValueError, "[handle] the handle is null.");
    detail::throw_error<ValueError>("[handle] there is no such handle; it was freed, or is none of these.");
  }

  std::array<std::atomic<Slot*>, kChunks + 1> published_{};
  std::array<Chunk, kChunks + 1> chunks_;  // with what follows under free_lock_
  std::vector<uint64_t> free_;
  uint64_t made_ = 0;
  mutable SpinLock free_lock_;
};

}  // namespace loomix::c
