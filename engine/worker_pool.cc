// SPDX-License-Identifier: Apache-2.0
//
// Ready tasks of default priority lie with a worker (ready_queue.h): in its inbox, where other threads put them, or in its
// ring. A worker without tasks takes from others. Tasks of other priorities go through two heaps: `urgent_` is looked at
// before everything, `leisurely_` after it.
//
// Sleeping. `idle` of a group counts its sleeping and searching workers. A producer first publishes a task (by a
// sequentially consistent write), then reads `idle` of all groups: where nobody searches and somebody sleeps, it turns one
// sleeper into a searcher and grants a permit. A worker that finds nothing becomes a sleeper (a read-modify-write of
// `idle`), then looks once more at every queue. One of the two sees the other, so no wake-up is lost. While somebody
// searches no permit is given: a searcher that finds work and was the last one of its group looks again and wakes the next;
// one that gives up looks again as a sleeper, and wakes the next if it leaves with a task. At most one worker of a group
// searches at a time, so that pushing at full speed makes few system calls, but for a parallel loop, which wakes as many as
// may help.
//
// A searcher gives way now and then. Where others want its core, the kernel may take it for milliseconds, in which nobody is
// woken, since somebody searches. So once that has happened, workers sleep at once for a while: who is woken gets a core
// sooner than who gave way.
#include "engine/worker_pool.h"

#include <sched.h>
#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <utility>

#include "engine/futex.h"
#include "engine/places.h"
#include "engine/threaded_engine.h"

namespace loomix::engine {
namespace {

constexpr uint64_t kSearching = 1;
constexpr uint64_t kSleeping = uint64_t{1} << 32;
constexpr int kSearchRounds = 200;  // about 10 microseconds
constexpr int kRoundsInCrowd = 15;  // without giving way
constexpr std::chrono::microseconds kLinger{200};
// A thread that gave way for so long shares its core with others.
constexpr std::chrono::microseconds kPushedAside{300};
constexpr std::chrono::milliseconds kLeastRest{20}, kMostRest{2000};

uint32_t searching(uint64_t idle) noexcept { return static_cast<uint32_t>(idle); }
uint32_t sleeping(uint64_t idle) noexcept { return static_cast<uint32_t>(idle >> 32); }

}  // namespace

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

// The first worker of each group, and how many workers there are. A group lies within a place.
std::vector<int> WorkerPool::first_workers(int threads, int places) {
  std::vector<int> first;
  for (int place = 0; place < places; ++place) {
    const int end = threads * (place + 1) / places;
    for (int i = threads * place / places; i < end; i += kGroup) first.push_back(i);
  }
  first.push_back(threads);
  return first;
}

WorkerPool::WorkerPool(ThreadedEngine& engine, Device device, Lane lane, int threads, Team* team,
                       std::vector<std::vector<int>> places)
    : engine_(engine),
      device_(device),
      lane_(lane),
      team_(team),
      places_(std::move(places)),
      queues_(first_workers(threads, std::max(1, static_cast<int>(places_.size())))),
      groups_(static_cast<size_t>(queues_.group_of(threads - 1)) + 1) {
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

void WorkerPool::submit(Task* task, ThreadState& state) {
  int near = 0;
  if (task->priority > 0) [[unlikely]] {
    urgent_.push(task);
  } else if (task->priority < 0) [[unlikely]] {
    leisurely_.push(task);
  } else if (state.worker != nullptr && state.worker->pool == this) {
    queues_.push_own(state.worker->index, task);
    near = queues_.group_of(state.worker->index);
  } else {
    near = queues_.group_of(queues_.push(state.inbox_cursor, task));
  }
  wake(1, near);
}

bool WorkerPool::has_higher(int priority) const noexcept {
  if (urgent_.count.load(std::memory_order_relaxed) > 0)
    return urgent_.top.load(std::memory_order_relaxed) > priority;
  if (priority >= 0) return false;
  if (!queues_.empty()) return true;
  return leisurely_.count.load(std::memory_order_relaxed) > 0 &&
         leisurely_.top.load(std::memory_order_relaxed) > priority;
}

void WorkerPool::wake(int count, int near) noexcept {
  for (size_t i = 0; i < groups_.size() && count > 0; ++i)
    count -= wake_in(groups_[(static_cast<size_t>(near) + i) % groups_.size()], count);
}

// Returns how many of `count` look for work there.
int WorkerPool::wake_in(Group& group, int count) noexcept {
  uint64_t idle = group.idle.load(std::memory_order_seq_cst);
  int active;
  uint32_t woken;
  do {
    active = static_cast<int>(searching(idle));
    if (active >= count) return count;
    woken = std::min(static_cast<uint32_t>(count - active), sleeping(idle));
    if (woken == 0) return active;
  } while (!group.idle.compare_exchange_weak(idle, idle - woken * kSleeping + woken * kSearching,
                                             std::memory_order_seq_cst));
  group.permits.fetch_add(woken, std::memory_order_release);
  futex_wake(group.permits, static_cast<int>(woken));
  return active + static_cast<int>(woken);
}

bool WorkerPool::has_work() const noexcept {
  return urgent_.count.load(std::memory_order_seq_cst) > 0 || !queues_.empty() ||
         leisurely_.count.load(std::memory_order_seq_cst) > 0;
}

Task* WorkerPool::take(Worker& worker) {
  if (urgent_.count.load(std::memory_order_relaxed) > 0) [[unlikely]] {
    if (Task* const task = urgent_.pop()) return task;
  }
  if (Task* const task = queues_.pop(worker.index)) return task;
  if (Task* const task = queues_.steal(worker.index)) return task;
  return leisurely_.count.load(std::memory_order_relaxed) > 0 ? leisurely_.pop() : nullptr;
}

Task* WorkerPool::take_for_guest(ThreadState& state) {
  if (urgent()) {
    if (Task* const task = urgent_.pop_for_guest()) return task;
  }
  return queues_.pop_for_guest(state.inbox_cursor++);
}

// Where a worker has helped with a loop, another loop is likely soon: the next operator of a network. To be woken for it
// takes long, and the kernel may put it behind the caller on the caller's core. So it stays awake for a while, and counts as
// busy: it looks at all queues as a sleeper does before it sleeps.
Task* WorkerPool::linger(Worker& worker) {
  worker.helped = false;
  auto end = std::chrono::steady_clock::now() + kLinger;
  for (int round = 1;; ++round) {
    if (Task* const task = take(worker)) return task;
    if (team_wants_help()) {
      help(worker);
      end = std::chrono::steady_clock::now() + kLinger;
    } else if (round % 16 != 0) {
      cpu_relax();
    } else if (std::chrono::steady_clock::now() > end || stopping_.load(std::memory_order_relaxed)) {
      break;
    } else {
      sched_yield();
    }
  }
  worker.helped = false;
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
  if (worker.helped) {
    if (Task* const task = linger(worker)) return task;
  }
  Group& group = group_of(worker);
  uint64_t idle = group.idle.load(std::memory_order_relaxed);
  bool searches = searching(idle) == 0 && group.idle.compare_exchange_strong(idle, idle + kSearching);
  for (;;) {
    Task* task = nullptr;
    if (searches) searches = search_actively(worker, &task);
    if (task == nullptr && worker.helped) task = linger(worker);
    if (task != nullptr) return task;
    group.idle.fetch_add(searches ? kSleeping - kSearching : kSleeping, std::memory_order_seq_cst);
    if (has_work_or_loop() || stopping_.load(std::memory_order_seq_cst)) {
      searches = false;
      idle = group.idle.load(std::memory_order_relaxed);
      bool left = false;
      while (sleeping(idle) > 0 && !left) left = group.idle.compare_exchange_weak(idle, idle - kSleeping);
      if (left) {
        if ((task = take(worker)) != nullptr) {
          if (has_work()) wake(1, queues_.group_of(worker.index));
          return task;
        }
        if (stopping_.load(std::memory_order_seq_cst) && !has_work()) return nullptr;
        if (team_wants_help()) help(worker);
        sched_yield();  // a task may be on its way into an inbox
        continue;
      }
    }
    while (!sleep(group)) {}
    searches = true;
  }
}

// As one of those counted as searching. True if it still is, and has found nothing. Loops come after tasks: their callers
// go on alone.
bool WorkerPool::search_actively(Worker& worker, Task** task) {
  const int rounds = crowd_.is_there() ? kRoundsInCrowd : kSearchRounds;
  for (int round = 0; round < rounds; ++round) {
    if ((*task = take(worker)) != nullptr) {
      leave_search(worker);
      return false;
    }
    if (team_wants_help()) {
      leave_search(worker);  // or nobody would be woken for tasks that come meanwhile
      help(worker);
      return false;
    }
    if (round % 16 != 15) {
      cpu_relax();
    } else if (crowd_.pushes_aside()) {
      break;
    }
  }
  return true;
}

bool WorkerPool::Crowd::is_there() const noexcept {
  return std::chrono::steady_clock::now() <
         std::chrono::steady_clock::time_point(until_.load(std::memory_order_relaxed));
}

// Gives way. Where that took long, nobody searches for a while, and longer each time.
bool WorkerPool::Crowd::pushes_aside() noexcept {
  const auto begin = std::chrono::steady_clock::now();
  sched_yield();
  const auto end = std::chrono::steady_clock::now();
  if (end - begin < kPushedAside) return false;
  std::chrono::nanoseconds rest = rest_.load(std::memory_order_relaxed);
  const std::chrono::steady_clock::time_point before(until_.load(std::memory_order_relaxed));
  rest = end - before < rest ? std::min<std::chrono::nanoseconds>(2 * rest, kMostRest) : kLeastRest;
  rest_.store(rest, std::memory_order_relaxed);
  until_.store((end + rest).time_since_epoch(), std::memory_order_relaxed);
  return true;
}

void WorkerPool::leave_search(Worker& worker) noexcept {
  const uint64_t before = group_of(worker).idle.fetch_sub(kSearching, std::memory_order_seq_cst);
  if (searching(before) == 1 && has_work()) wake(1, queues_.group_of(worker.index));
}

void WorkerPool::help(Worker& worker) {
  engine_.worker_helps();
  worker.helped = team_->help(worker.index) || worker.helped;
}

// Takes a permit; false if there was none after a sleep.
bool WorkerPool::sleep(Group& group) {
  uint32_t permits = group.permits.load(std::memory_order_acquire);
  while (permits > 0) {
    if (group.permits.compare_exchange_weak(permits, permits - 1, std::memory_order_acquire)) return true;
  }
  futex_wait(group.permits, 0);
  return false;
}

void WorkerPool::run_worker(Worker& worker) {
  if (!places_.empty())
    stay_on(places_[((static_cast<size_t>(worker.index) + 1) * places_.size() - 1) / workers_.size()]);
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
  for (Group& group : groups_) {
    uint64_t idle = group.idle.load(std::memory_order_seq_cst);
    while (sleeping(idle) > 0) {
      if (group.idle.compare_exchange_weak(idle, idle - kSleeping + kSearching, std::memory_order_seq_cst)) {
        group.permits.fetch_add(1, std::memory_order_release);
        futex_wake(group.permits, 1);
      }
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
