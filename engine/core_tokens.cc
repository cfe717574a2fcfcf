// SPDX-License-Identifier: Apache-2.0
#include "engine/core_tokens.h"

#include <sched.h>
#include <algorithm>
#include <chrono>

#include "engine/spin_lock.h"

namespace loomix::engine {

int CoreTokens::try_take(int wanted) noexcept {
  int free = free_.load(std::memory_order_relaxed);
  int taken;
  do {
    taken = std::min(free, wanted);
    if (taken <= 0) return 0;
  } while (
      !free_.compare_exchange_weak(free, free - taken, std::memory_order_acquire, std::memory_order_relaxed));
  return taken;
}

int CoreTokens::take(int wanted, int64_t patience_ns) noexcept {
  int taken = try_take(wanted);
  if (taken >= wanted || patience_ns <= 0) return taken;
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::min(patience_ns, kPatienceNs));
  while (taken < wanted && std::chrono::steady_clock::now() < deadline) {
    for (int i = 0; i < 16; ++i) cpu_relax();
    taken += try_take(wanted - taken);
  }
  return taken;
}

}  // namespace loomix::engine
