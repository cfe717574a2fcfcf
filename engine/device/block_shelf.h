// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/device/size_class.h"

namespace loomix::engine {

// Idle blocks of a pool that are taken and put back without a lock: a cache line of slots for each size class above
// the small ones and up to 16 MiB. A block is in a slot or with its user; a slot changes hands by one exchange. Each
// thread begins at a slot of its own, so that it gets back what its cache may still hold.
class BlockShelf {
 public:
  // A block of just `size`, which is rounded; null if there is none.
  void* take(size_t size) noexcept {
    Line& line = lines_[size_class::shelf_class(size)];
    const uint32_t first = first_slot();
    for (uint32_t i = 0; i < kSlots; ++i) {
      std::atomic<void*>& slot = line.slots[(first + i) % kSlots];
      if (slot.load(std::memory_order_relaxed) == nullptr) continue;
      if (void* const memory = slot.exchange(nullptr, std::memory_order_acquire)) return memory;
    }
    return nullptr;
  }
  // False if there is no room.
  bool put(void* memory, size_t size) noexcept {
    Line& line = lines_[size_class::shelf_class(size)];
    const uint32_t first = first_slot();
    for (uint32_t i = 0; i < kSlots; ++i) {
      std::atomic<void*>& slot = line.slots[(first + i) % kSlots];
      void* empty = nullptr;
      if (slot.load(std::memory_order_relaxed) == nullptr &&
          slot.compare_exchange_strong(empty, memory, std::memory_order_release, std::memory_order_relaxed))
        return true;
    }
    return false;
  }
  // Gives the largest block that is there to `size`; null if the shelf is empty.
  void* take_largest(size_t& size) noexcept {
    for (size_t index = size_class::kShelfClasses; index-- > 0;) {
      size = size_class::shelf_class_bytes(index);
      if (void* const memory = take(size)) return memory;
    }
    return nullptr;
  }

 private:
  static constexpr uint32_t kSlots = 8;
  struct alignas(64) Line {
    std::array<std::atomic<void*>, kSlots> slots = {};
  };
  static uint32_t first_slot() noexcept {
    if (first_slot_ == 0) [[unlikely]]
      first_slot_ = next_thread_.fetch_add(1, std::memory_order_relaxed) | 0x80000000;
    return first_slot_;
  }

  static inline constinit std::atomic<uint32_t> next_thread_{0};
  static inline constinit thread_local uint32_t first_slot_ = 0;  // with a high bit, once set
  std::array<Line, size_class::kShelfClasses> lines_;
};

}  // namespace loomix::engine
