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
class SpinLock {
 public:
  void lock() noexcept {
    if (state_.exchange(1, std::memory_order_acquire) != 0) lock_slow();
  }
  bool try_lock() noexcept {
    return state_.load(std::memory_order_relaxed) == 0 && state_.exchange(1, std::memory_order_acquire) == 0;
  }
  void unlock() noexcept { state_.store(0, std::memory_order_release); }

 private:
  void lock_slow() noexcept;
  std::atomic<uint32_t> state_{0};
};

}  // namespace loomix::engine
