// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace loomix::ops {

// How much scratch memory `bytes` take, so that what follows is aligned, too.
constexpr size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Equal pieces of a run's scratch memory for the threads of a loop, of which at most `count` are inside at once. Takes no
// lock: a free piece is a bit that a thread clears.
class ScratchSlots {
 public:
  static constexpr int kMost = 256;

  ScratchSlots(std::span<std::byte> memory, size_t bytes_each, int count)
      : memory_(memory.data()), bytes_each_(bytes_each) {
    for (int slot = 0; slot < count; ++slot) free_[slot / 64].fetch_or(bit(slot), std::memory_order_relaxed);
  }

  // A piece for the length of a scope.
  class Use {
   public:
    explicit Use(ScratchSlots& slots) : slots_(slots), index(slots.take()) {}
    ~Use() { slots_.free_[index / 64].fetch_or(bit(index), std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    template <class T>
    T* as() const {
      return reinterpret_cast<T*>(slots_.memory_ + static_cast<size_t>(index) * slots_.bytes_each_);
    }

   private:
    ScratchSlots& slots_;

   public:
    const int index;
  };

 private:
  static constexpr uint64_t bit(int slot) { return uint64_t{1} << (slot % 64); }
  int take() {
    for (int word = 0;; word = (word + 1) % (kMost / 64)) {
      uint64_t free = free_[word].load(std::memory_order_relaxed);
      while (free != 0) {
        if (free_[word].compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire))
          return word * 64 + std::countr_zero(free);
      }
    }
  }

  std::byte* const memory_;
  const size_t bytes_each_;
  std::atomic<uint64_t> free_[kMost / 64] = {};
};

// The pieces that a run on so many cores can use.
constexpr int slots_for(int cores) { return std::clamp(cores, 1, ScratchSlots::kMost); }

}  // namespace loomix::ops
