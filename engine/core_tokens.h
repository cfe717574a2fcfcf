// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace loomix::engine {

// One token a core. A worker that is awake holds one (or none, if a wide task took them all), and a task that can use
// more asks for them when it starts.
class CoreTokens {
 public:
  static constexpr int64_t kPatienceNs = 50'000;

  explicit CoreTokens(int cores) noexcept : cores_(cores), free_(cores) {}
  int cores() const noexcept { return cores_; }
  // Up to `wanted` tokens, at once.
  int try_take(int wanted) noexcept;
  // The same, but waits up to `patience_ns` (at most kPatienceNs) for more than came at once.
  int take(int wanted, int64_t patience_ns) noexcept;
  void give(int count) noexcept {
    if (count > 0) free_.fetch_add(count, std::memory_order_release);
  }
  int available() const noexcept { return free_.load(std::memory_order_relaxed); }
  void reset() noexcept { free_.store(cores_, std::memory_order_relaxed); }

 private:
  const int cores_;
  std::atomic<int> free_;
};

}  // namespace loomix::engine
