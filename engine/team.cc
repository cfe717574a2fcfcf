// SPDX-License-Identifier: Apache-2.0
//
// A caller puts its job into a free slot for every helper that it may have, wakes workers, and takes parts from the first
// on. An idle worker takes a job out of its slot, which makes it one of the job's helpers, and takes parts from the last on: so
// each half of an array tends to stay in one core's cache from loop to loop. When all parts are taken the caller clears the
// slots that nobody took, so it never waits for a thread to wake up, and then waits for those that did.
//
// Helpers are the workers themselves, not threads of the team: a core token is free only if a worker is idle, and that one
// has a core that it runs on. Another thread would start on the core that woke it, behind the caller, whenever the idle
// worker happens to be looking for work on its own.
#include "engine/team.h"

#include "engine/futex.h"
#include "engine/spin_lock.h"
#include "engine/worker_pool.h"

namespace loomix::engine {

struct Team::Job {
  void (*run)(void*, int64_t);
  void* body;
  int64_t parts;  // fewer than 2^31
  std::atomic<uint64_t> taken{
      0};  // how often a part was asked for: from the last on << 32 | from the first on
  std::atomic<uint32_t> helpers{0};  // in slots, or at work

  void take_parts(bool from_first) {
    const uint64_t step = from_first ? 1 : uint64_t{1} << 32;
    for (;;) {
      const uint64_t before = taken.fetch_add(step, std::memory_order_relaxed);
      const auto first = static_cast<int64_t>(before & UINT32_MAX), last = static_cast<int64_t>(before >> 32);
      if (first + last >= parts) return;
      run(body, from_first ? first : parts - 1 - last);
    }
  }
};

namespace {

constinit thread_local bool t_in_part = false;
std::atomic<int> g_callers{0};
thread_local const int t_first_slot =
    g_callers.fetch_add(7, std::memory_order_relaxed) & 63;  // callers begin apart
constexpr int kCallerSpins = 2000;

}  // namespace

bool Team::help(int place) {
  for (int i = 0; i < kSlots; ++i) {
    std::atomic<Job*>& slot = slots_[static_cast<size_t>((place + i) % kSlots)].job;
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    Job* const job = slot.exchange(nullptr, std::memory_order_acq_rel);
    if (job == nullptr) continue;
    offered_.fetch_sub(1, std::memory_order_relaxed);
    t_in_part = true;
    job->take_parts(false);
    t_in_part = false;
    if (job->helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake(job->helpers, 1);
    return true;
  }
  return false;
}

void Team::run(int helpers, int64_t parts, void (*run)(void*, int64_t), void* body) {
  WorkerPool* const crew = crew_.load(std::memory_order_acquire);
  if (t_in_part || helpers <= 0 || parts <= 1 || crew == nullptr) {
    for (int64_t part = 0; part < parts; ++part) run(body, part);
    return;
  }
  Job job{run, body, parts};
  uint64_t offers = 0;  // a bit for each slot
  int count = 0;
  for (int i = 0; i < kSlots && count < helpers && count < parts - 1; ++i) {
    const int place = (t_first_slot + i) % kSlots;
    std::atomic<Job*>& slot = slots_[static_cast<size_t>(place)].job;
    Job* empty = nullptr;
    if (slot.load(std::memory_order_relaxed) != nullptr) continue;
    job.helpers.fetch_add(1, std::memory_order_relaxed);
    offered_.fetch_add(1, std::memory_order_relaxed);
    if (slot.compare_exchange_strong(empty, &job, std::memory_order_seq_cst)) {
      offers |= uint64_t{1} << place;
      ++count;
    } else {
      offered_.fetch_sub(1, std::memory_order_relaxed);
      job.helpers.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  crew->wake(count);
  t_in_part = true;
  job.take_parts(true);
  t_in_part = false;
  for (int i = 0; offers != 0; ++i, offers >>= 1) {
    Job* mine = &job;
    if ((offers & 1) && slots_[static_cast<size_t>(i)].job.compare_exchange_strong(
                            mine, nullptr, std::memory_order_acq_rel)) {
      offered_.fetch_sub(1, std::memory_order_relaxed);
      job.helpers.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  for (int spins = 0;; ++spins) {
    const uint32_t left = job.helpers.load(std::memory_order_acquire);
    if (left == 0) return;
    spins < kCallerSpins ? cpu_relax() : futex_wait(job.helpers, left);
  }
}

void Team::reset() noexcept {
  for (Slot& slot : slots_) slot.job.store(nullptr, std::memory_order_relaxed);
  offered_.store(0, std::memory_order_relaxed);
  crew_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace loomix::engine
