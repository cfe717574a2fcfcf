// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace loomix::ops {

// The least number that a parallel loop notes, whichever thread does: what failed first, for a message.
class FirstNoted {
 public:
  void note(int64_t number) {
    int64_t first = first_.load(std::memory_order_relaxed);
    while (number < first && !first_.compare_exchange_weak(first, number, std::memory_order_relaxed)) {}
  }
  bool any() const { return value() != std::numeric_limits<int64_t>::max(); }
  int64_t value() const { return first_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> first_{std::numeric_limits<int64_t>::max()};
};

}  // namespace loomix::ops
