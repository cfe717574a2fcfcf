// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace loomix::tools {

// Calls make(i) for i in [first, count) on `threads` threads, and take(i, result) for each i in order on this thread.
// At most `ahead` results wait. The first exception of either ends it, and is thrown here.
//
// Shared, under one mutex: the next index to make, the next to take, a ring of results. A maker waits while the index
// that it would make is `ahead` or more before the one to take; the taker waits for its slot. Each wakes the other
// after every change, and both check `failed` when they wake, so no wake-up is lost and nobody waits for the dead.
template <class Make, class Take>
void run_ordered(size_t first, size_t count, int threads, size_t ahead, const Make& make, const Take& take) {
  using Result = decltype(make(size_t{}));
  std::mutex mutex;
  std::condition_variable made;
  std::condition_variable taken;
  std::vector<std::optional<Result>> ring(ahead);
  size_t next_made = first;
  size_t next_taken = first;
  std::exception_ptr failed;

  const auto fail = [&] {
    const std::lock_guard lock(mutex);
    if (!failed) failed = std::current_exception();
    made.notify_all();
    taken.notify_all();
  };
  const auto maker = [&] {
    try {
      for (;;) {
        std::unique_lock lock(mutex);
        taken.wait(lock, [&] { return failed || next_made >= count || next_made < next_taken + ahead; });
        if (failed || next_made >= count) return;
        const size_t i = next_made++;
        lock.unlock();
        Result result = make(i);
        lock.lock();
        ring[i % ahead] = std::move(result);
        if (i == next_taken) made.notify_one();
      }
    } catch (...) {
      fail();
    }
  };
  std::vector<std::jthread> makers;
  for (int i = 0; i < threads; ++i) makers.emplace_back(maker);
  try {
    while (next_taken < count) {
      std::unique_lock lock(mutex);
      made.wait(lock, [&] { return failed || ring[next_taken % ahead]; });
      if (failed) break;
      Result result = std::move(*ring[next_taken % ahead]);
      ring[next_taken % ahead].reset();
      const size_t i = next_taken++;
      taken.notify_all();
      lock.unlock();
      take(i, std::move(result));
    }
  } catch (...) {
    fail();
  }
  makers.clear();
  if (failed) std::rethrow_exception(failed);
}

}  // namespace loomix::tools
