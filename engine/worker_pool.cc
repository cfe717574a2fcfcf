// SPDX-License-Identifier: Apache-2.0
//
// Ready tasks of default priority reach a pool through its inbox, a linked stack onto which any thread pushes by
// compare-and-swap. A worker without work takes the whole inbox at once (so there is no ABA), keeps the oldest task and
// puts the others, oldest first, into its own ring, whose lock is almost always its own; others steal half of a ring.
// Tasks of other priorities go through two heaps: `urgent_` is looked at before everything, `leisurely_` after it.
//
// Sleeping. `idle_` counts sleeping and searching workers. A producer first publishes a task (by a sequentially
// consistent write), then reads `idle_`: if nobody searches and somebody sleeps, it turns one sleeper into a searcher
// and grants a permit. A worker that finds nothing becomes a sleeper (a read-modify-write of `idle_`), then looks once
// more at every queue. One of the two sees the other, so no wake-up is lost. While somebody searches no permit is
// given: a searcher that finds work and was the last one looks again and wakes the next; one that gives up looks again
// as a sleeper. At most one worker searches at a time, so that pushing at full speed makes few system calls, but for a
// parallel loop, which wakes as many as may help.
#include "engine/worker_pool.h"

#include <sched.h>
#include <algorithm>
#include <mutex>
#include <new>

#include "engine/futex.h"
#include "engine/threaded_engine.h"

namespace loomix::engine {
namespace {

constexpr uint64_t kSearching = 1;
constexpr uint64_t kSleeping = uint64_t{1} << 32;
constexpr int kSearchRounds = 200;  // about 10 microseconds, less where others want the core

uint32_t searching(uint64_t idle) noexcept { return static_cast<uint32_t>(idle); }
uint32_t sleeping(uint64_t idle) noexcept { return static_cast<uint32_t>(idle >> 32); }

}  // namespace

void Worker::append(Task* task) {
  const uint32_t count = size.load(std::memory_order_relaxed);
  if (count == ring.size()) {
    std::rotate(ring.begin(), ring.begin() + head, ring.end());
    head = 0;
    ring.resize(ring.size() * 2);
  }
  ring[(head + count) & (ring.size() - 1)] = task;
  size.store(count + 1, std::memory_order_relaxed);
}

void Worker::push(Task* task) {
  const std::lock_guard guard(lock);
  append(task);
  size.store(size.load(std::memory_order_relaxed),
             std::memory_order_seq_cst);  // published before idle_ is read
}

void Worker::push_list(Task* first) {
  const std::lock_guard guard(lock);
  for (Task* task = first; task != nullptr;) {
    Task* const next = task->link;
    append(task);
    task = next;
  }
  size.store(size.load(std::memory_order_relaxed), std::memory_order_seq_cst);
}

Task* Worker::pop() {
  if (size.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard guard(lock);
  const uint32_t count = size.load(std::memory_order_relaxed);
  if (count == 0) return nullptr;
  Task* const task = ring[head];
  head = (head + 1) & static_cast<uint32_t>(ring.size() - 1);
  size.store(count - 1, std::memory_order_relaxed);
  if (count > 1) {
    char* const next = reinterpret_cast<char*>(ring[head]);
    __builtin_prefetch(next, 1);
    __builtin_prefetch(next + 128, 1);
  }
  return task;
}

int Worker::steal_into(Worker& thief, Task** first) {
  constexpr uint32_t kMost = 64;
  Task* taken[kMost];
  uint32_t count;
  {
    if (size.load(std::memory_order_relaxed) == 0 || !lock.try_lock()) return 0;
    const uint32_t all = size.load(std::memory_order_relaxed);
    count = std::min((all + 1) / 2, kMost);
    const uint32_t mask = static_cast<uint32_t>(ring.size() - 1);
    for (uint32_t i = 0; i < count; ++i) taken[i] = ring[(head + i) & mask];
    head = (head + count) & mask;
    size.store(all - count, std::memory_order_relaxed);
    lock.unlock();
  }
  if (count == 0) return 0;
  *first = taken[0];
  if (count > 1) {
    const std::lock_guard guard(thief.lock);
    for (uint32_t i = 1; i < count; ++i) thief.append(taken[i]);
  }
  return static_cast<int>(count);
}

Task* Worker::pop_for_guest() {
  if (size.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard guard(lock);
  const uint32_t count = size.load(std::memory_order_relaxed);
  const uint32_t mask = static_cast<uint32_t>(ring.size() - 1);
  if (count == 0 || !(ring[head & mask]->flags & kMayInline)) return nullptr;
  Task* const task = ring[head];
  head = (head + 1) & mask;
  size.store(count - 1, std::memory_order_relaxed);
  return task;
}

void WorkerPool::Heap::push(Task* task) {
  const auto later = [](const Item& a, const Item& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.order > b.order;
  };
  const std::lock_guard guard(lock);
  items.push_back({task->priority, pushed++, task});
  std::push_heap(items.begin(), items.end(), later);
  top.store(items.front().priority, std::memory_order_relaxed);
  count.fetch_add(1, std::memory_order_seq_cst);
}

Task* WorkerPool::Heap::pop() {
  const auto later = [](const Item& a, const Item& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.order > b.order;
  };
  const std::lock_guard guard(lock);
  if (items.empty()) return nullptr;
  std::pop_heap(items.begin(), items.end(), later);
  Task* const task = items.back().task;
  items.pop_back();
  top.store(items.empty() ? kNothing : items.front().priority, std::memory_order_relaxed);
  count.fetch_sub(1, std::memory_order_relaxed);
  return task;
}

Task* WorkerPool::Heap::pop_for_guest() {
  {
    const std::lock_guard guard(lock);
    if (items.empty() || !(items.front().task->flags & kMayInline)) return nullptr;
  }
  return pop();
}

WorkerPool::WorkerPool(ThreadedEngine& engine, Device device, Lane lane, int threads, Team* team)
    : engine_(engine), device_(device), lane_(lane), team_(team) {
  for (int i = 0; i < threads; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->pool = this;
    workers_.back()->index = i;
  }
}

WorkerPool::~WorkerPool() = default;

void WorkerPool::start() {
  for (auto& worker : workers_) {
    worker->thread = std::thread([this, w = worker.get()] { run_worker(*w); });
  }
}

void WorkerPool::submit(Task* task) {
  if (task->priority > 0) [[unlikely]] {
    urgent_.push(task);
  } else if (task->priority < 0) [[unlikely]] {
    leisurely_.push(task);
  } else {
    Task* head = inbox_.load(std::memory_order_relaxed);
    do {
      task->link = head;
    } while (!inbox_.compare_exchange_weak(head, task, std::memory_order_seq_cst, std::memory_order_relaxed));
  }
  wake(1);
}

void WorkerPool::submit_local(Worker& worker, Task* task) {
  worker.push(task);
  wake(1);
}

bool WorkerPool::has_higher(int priority) const noexcept {
  if (urgent_.count.load(std::memory_order_relaxed) > 0)
    return urgent_.top.load(std::memory_order_relaxed) > priority;
  if (priority >= 0) return false;
  if (inbox_.load(std::memory_order_relaxed) != nullptr) return true;
  for (const auto& worker : workers_) {
    if (!worker->empty()) return true;
  }
  return leisurely_.count.load(std::memory_order_relaxed) > 0 &&
         leisurely_.top.load(std::memory_order_relaxed) > priority;
}

void WorkerPool::wake(int count) noexcept {
  uint64_t idle = idle_.load(std::memory_order_seq_cst);
  uint32_t woken;
  do {
    const uint32_t active = searching(idle);
    if (active >= static_cast<uint32_t>(count)) return;
    woken = std::min(static_cast<uint32_t>(count) - active, sleeping(idle));
    if (woken == 0) return;
  } while (!idle_.compare_exchange_weak(idle, idle - woken * kSleeping + woken * kSearching,
                                        std::memory_order_seq_cst));
  permits_.fetch_add(woken, std::memory_order_release);
  futex_wake(permits_, static_cast<int>(woken));
}

bool WorkerPool::has_work() const noexcept {
  if (inbox_.load(std::memory_order_seq_cst) != nullptr) return true;
  if (urgent_.count.load(std::memory_order_seq_cst) > 0) return true;
  for (const auto& worker : workers_) {
    if (!worker->empty()) return true;
  }
  return leisurely_.count.load(std::memory_order_seq_cst) > 0;
}

// Takes all tasks of the inbox, returns the oldest and leaves the others with `worker`.
Task* WorkerPool::open_inbox(Worker& worker) {
  if (inbox_.load(std::memory_order_relaxed) == nullptr) return nullptr;
  Task* newest = inbox_.exchange(nullptr, std::memory_order_seq_cst);
  if (newest == nullptr) return nullptr;
  Task* oldest = nullptr;
  while (newest != nullptr) {
    Task* const older = newest->link;
    newest->link = oldest;
    oldest = newest;
    newest = older;
  }
  if (oldest->link != nullptr) worker.push_list(oldest->link);
  return oldest;
}

Task* WorkerPool::steal(Worker& worker) {
  const size_t count = workers_.size();
  for (size_t i = 1; i < count; ++i) {
    Task* task = nullptr;
    if (workers_[(static_cast<size_t>(worker.index) + i) % count]->steal_into(worker, &task) > 0) return task;
  }
  return nullptr;
}

Task* WorkerPool::take(Worker& worker) {
  if (urgent_.count.load(std::memory_order_relaxed) > 0) [[unlikely]] {
    if (Task* const task = urgent_.pop()) return task;
  }
  if (Task* const task = worker.pop()) return task;
  if (Task* const task = open_inbox(worker)) {
    if (!worker.empty()) wake(1);
    return task;
  }
  if (Task* const task = steal(worker)) return task;
  return leisurely_.count.load(std::memory_order_relaxed) > 0 ? leisurely_.pop() : nullptr;
}

Task* WorkerPool::take_for_guest() {
  if (urgent()) {
    if (Task* const task = urgent_.pop_for_guest()) return task;
  }
  for (auto& worker : workers_) {
    if (Task* const task = worker->pop_for_guest()) return task;
  }
  if (inbox_.load(std::memory_order_relaxed) == nullptr) return nullptr;
  Worker& host = *workers_.front();
  Task* const task = open_inbox(host);
  if (task == nullptr) return nullptr;
  if (!host.empty()) wake(1);
  if (task->flags & kMayInline) return task;
  submit_local(host, task);
  return nullptr;
}

// Looks for work for a while, then sleeps. Returns null when the pool stops and nothing is ready. Its core is free for
// others meanwhile.
Task* WorkerPool::search(Worker& worker) {
  engine_.worker_sleeps(worker);
  Task* const task = search_or_sleep(worker);
  if (task != nullptr) engine_.worker_wakes(worker);
  return task;
}

Task* WorkerPool::search_or_sleep(Worker& worker) {
  uint64_t idle = idle_.load(std::memory_order_relaxed);
  bool searches = searching(idle) == 0 && idle_.compare_exchange_strong(idle, idle + kSearching);
  for (;;) {
    Task* task = nullptr;
    if (searches) searches = search_actively(worker, &task);
    if (task != nullptr) return task;
    idle_.fetch_add(searches ? kSleeping - kSearching : kSleeping, std::memory_order_seq_cst);
    if (has_work_or_loop() || stopping_.load(std::memory_order_seq_cst)) {
      searches = false;
      idle = idle_.load(std::memory_order_relaxed);
      bool left = false;
      while (sleeping(idle) > 0 && !left) left = idle_.compare_exchange_weak(idle, idle - kSleeping);
      if (left) {
        if ((task = take(worker)) != nullptr) return task;
        if (stopping_.load(std::memory_order_seq_cst) && !has_work()) return nullptr;
        if (team_wants_help()) help();
        continue;
      }
    }
    while (!sleep()) {}
    searches = true;
  }
}

// As one of those counted in `idle_` as searching. True if it still is, and has found nothing. Loops come after tasks:
// their callers go on alone.
bool WorkerPool::search_actively(Worker& worker, Task** task) {
  for (int round = 0; round < kSearchRounds; ++round) {
    if ((*task = take(worker)) != nullptr) {
      leave_search();
      return false;
    }
    if (team_wants_help()) {
      leave_search();  // or nobody would be woken for tasks that come meanwhile
      help();
      return false;
    }
    if (round % 16 == 15) {
      sched_yield();
    } else {
      cpu_relax();
    }
  }
  return true;
}

void WorkerPool::leave_search() noexcept {
  const uint64_t before = idle_.fetch_sub(kSearching, std::memory_order_seq_cst);
  if (searching(before) == 1 && sleeping(before) > 0 && has_work()) wake(1);
}

void WorkerPool::help() {
  engine_.worker_helps();
  team_->help();
}

// Takes a permit; false if there was none after a sleep.
bool WorkerPool::sleep() {
  uint32_t permits = permits_.load(std::memory_order_acquire);
  while (permits > 0) {
    if (permits_.compare_exchange_weak(permits, permits - 1, std::memory_order_acquire)) return true;
  }
  futex_wait(permits_, 0);
  return false;
}

void WorkerPool::run_worker(Worker& worker) {
  ThreadState& state = engine_.enter_worker(worker);
  RunContext context;
  context.device = device_;
  context.queue = queue;
  if (queue) queue->enter_thread();
  context.stream = queue ? queue->native() : nullptr;
  for (;;) {
    Task* task = take(worker);
    if (task == nullptr) {
      engine_.worker_idle(state);
      task = search(worker);
      if (task == nullptr) break;
    }
    engine_.run_from_queue(task, state, context);
  }
  engine_.leave_worker(state);
}

void WorkerPool::stop() {
  stopping_.store(true, std::memory_order_seq_cst);
  uint64_t idle = idle_.load(std::memory_order_seq_cst);
  while (sleeping(idle) > 0) {
    if (idle_.compare_exchange_weak(idle, idle - kSleeping + kSearching, std::memory_order_seq_cst)) {
      permits_.fetch_add(1, std::memory_order_release);
      futex_wake(permits_, 1);
    }
  }
  for (auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
  stopping_.store(false);
}

void WorkerPool::forget_threads() noexcept {
  for (auto& worker : workers_)
    ::new (&worker->thread) std::thread;  // the handles name threads of another process
}

}  // namespace loomix::engine
