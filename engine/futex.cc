// SPDX-License-Identifier: Apache-2.0
#include "engine/futex.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <ctime>

#include "engine/spin_lock.h"

namespace loomix::engine {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
              std::atomic<uint32_t>::is_always_lock_free);

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, int64_t timeout_ns) noexcept {
  timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                   static_cast<long>(timeout_ns % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int count) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

void SpinLock::lock_slow() noexcept {
  constexpr int kSpins = 128;  // longer than any holder that runs; beyond it the holder has lost its core
  for (;;) {
    for (int i = 0; i < kSpins; ++i) {
      if (try_lock()) return;
      cpu_relax();
    }
    sched_yield();
  }
}

}  // namespace loomix::engine
