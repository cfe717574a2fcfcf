// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace loomix::engine {

inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// For critical sections of a few nanoseconds that call no foreign code. A waiter spins, then gives its core away.
//
// A held lock holds the number of the process's generation, which is one higher in each child of a fork. So a lock that
// one of the parent's threads held is free in the child. What it guards must be whole there: the fork waits for those
// who change it, and only those who look may be caught in the middle.
class SpinLock {
 public:
  void lock() noexcept {
    if (state_.exchange(generation_, std::memory_order_acquire) == generation_) lock_slow();
  }
  bool try_lock() noexcept {
    return state_.load(std::memory_order_relaxed) != generation_ &&
           state_.exchange(generation_, std::memory_order_acquire) != generation_;
  }
  void unlock() noexcept { state_.store(0, std::memory_order_release); }

  static void begin_child() noexcept { ++generation_; }

 private:
  void lock_slow() noexcept;
  static inline constinit uint32_t generation_ = 1;  // changes only while the process has one thread
  std::atomic<uint32_t> state_{0};
};

}  // namespace loomix::engine
