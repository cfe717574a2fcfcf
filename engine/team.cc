// SPDX-License-Identifier: Apache-2.0
//
// Each helper has a slot: null (free), a Job (offered) or kTaken. A caller offers its job to free helpers by
// compare-and-swap, wakes those that sleep, and takes parts from the job's counter itself; helpers that have accepted take
// parts from the same counter. When the counter is used up the caller takes unaccepted offers back, so it never waits
// for a thread to wake up, and then for those that accepted. A helper sleeps only after it announced that (`asleep`) and
// found its slot still empty; an offer is written before `asleep` is read: one of the two sees the other.
#include "engine/team.h"

#include <sched.h>
#include <new>

#include "engine/futex.h"
#include "engine/omp_threads.h"
#include "engine/spin_lock.h"

namespace loomix::engine {

struct Team::Job {
  void (*run)(void*, int64_t);
  void* body;
  int64_t parts;
  std::atomic<int64_t> next{0};
  std::atomic<uint32_t> helpers{0};  // offered to, and not yet done or taken back

  void take_parts() {
    for (int64_t part = next.fetch_add(1, std::memory_order_relaxed); part < parts;
         part = next.fetch_add(1, std::memory_order_relaxed)) {
      run(body, part);
    }
  }
};

struct alignas(64) Team::Helper {
  std::atomic<Job*> slot{nullptr};
  std::atomic<uint32_t> asleep{0};
  std::atomic<bool> stopping{false};
  std::thread thread;
};

namespace {

constinit thread_local bool t_in_part = false;
constexpr int kHelperSpins = 300;  // between the loops of one kernel
constexpr int kCallerSpins = 2000;

}  // namespace

Team::Team(int helpers) noexcept : wanted_(helpers) {}
Team::~Team() { stop(); }

void Team::serve(Helper& helper) {
  static Job taken_marker{};
  t_in_part = true;
  set_omp_threads(1);
  for (int idle = 0;;) {
    Job* job = helper.slot.load(std::memory_order_acquire);
    if (job == nullptr) {
      if (helper.stopping.load(std::memory_order_acquire)) return;
      if (++idle < kHelperSpins) {
        cpu_relax();
        continue;
      }
      helper.asleep.store(1, std::memory_order_seq_cst);
      if (helper.slot.load(std::memory_order_seq_cst) == nullptr &&
          !helper.stopping.load(std::memory_order_seq_cst)) {
        futex_wait(helper.asleep, 1);
      }
      helper.asleep.store(0, std::memory_order_relaxed);
      idle = 0;
      continue;
    }
    if (!helper.slot.compare_exchange_strong(job, &taken_marker, std::memory_order_acq_rel)) continue;
    job->take_parts();
    if (job->helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake(job->helpers, 1);
    helper.slot.store(nullptr, std::memory_order_release);
    idle = 0;
  }
}

void Team::start() {
  const std::lock_guard lock(mutex_);
  if (started_.load(std::memory_order_relaxed)) return;
  for (int i = 0; i < wanted_; ++i) {
    helpers_.push_back(std::make_unique<Helper>());
    helpers_.back()->thread = std::thread([helper = helpers_.back().get()] { serve(*helper); });
  }
  started_.store(true, std::memory_order_release);
}

void Team::run(int helpers, int64_t parts, void (*run)(void*, int64_t), void* body) {
  if (t_in_part || helpers <= 0 || parts <= 1) {
    for (int64_t part = 0; part < parts; ++part) run(body, part);
    return;
  }
  if (!started_.load(std::memory_order_acquire)) start();
  Job job{run, body, parts};
  std::vector<std::unique_ptr<Helper>>& all = helpers_;
  uint64_t offered = 0;  // a bit for each of the first 64 helpers
  for (size_t i = 0; i < all.size() && i < 64 && helpers > 0; ++i) {
    Job* empty = nullptr;
    if (all[i]->slot.load(std::memory_order_relaxed) != nullptr) continue;
    job.helpers.fetch_add(1, std::memory_order_relaxed);
    if (!all[i]->slot.compare_exchange_strong(empty, &job, std::memory_order_seq_cst)) {
      job.helpers.fetch_sub(1, std::memory_order_relaxed);
      continue;
    }
    offered |= uint64_t{1} << i;
    --helpers;
    if (all[i]->asleep.load(std::memory_order_seq_cst) == 1 && all[i]->asleep.exchange(0) == 1) {
      futex_wake(all[i]->asleep, 1);
    }
  }
  t_in_part = true;
  job.take_parts();
  t_in_part = false;
  for (size_t i = 0; offered != 0; ++i, offered >>= 1) {
    Job* mine = &job;
    if ((offered & 1) && all[i]->slot.compare_exchange_strong(mine, nullptr, std::memory_order_acq_rel)) {
      job.helpers.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  for (int spins = 0;; ++spins) {
    const uint32_t left = job.helpers.load(std::memory_order_acquire);
    if (left == 0) return;
    spins < kCallerSpins ? cpu_relax() : futex_wait(job.helpers, left);
  }
}

void Team::stop() {
  const std::lock_guard lock(mutex_);
  for (auto& helper : helpers_) {
    helper->stopping.store(true, std::memory_order_seq_cst);
    helper->asleep.store(0, std::memory_order_seq_cst);
    futex_wake(helper->asleep, 1);
    if (helper->thread.joinable()) helper->thread.join();
  }
  helpers_.clear();
  started_.store(false, std::memory_order_relaxed);
}

void Team::forget_threads() noexcept {
  for (auto& helper : helpers_) ::new (&helper->thread) std::thread;
  helpers_.clear();
  started_.store(false, std::memory_order_relaxed);
}

}  // namespace loomix::engine
