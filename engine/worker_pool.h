// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/ready_queue.h"
#include "engine/spin_lock.h"
#include "engine/task.h"
#include "engine/team.h"
#include "engine/thread_state.h"

namespace loomix::engine {

class ThreadedEngine;
class WorkerPool;

// One thread of a pool.
struct alignas(64) Worker {
  WorkerPool* pool = nullptr;
  int index = 0;
  int cores = 0;        // core tokens that it holds: one while awake, if there was one
  bool helped = false;  // with a loop, since it last looked for work
  std::thread thread;
  std::atomic<int64_t> ran{0};  // tasks out of the queues
};

// The threads that serve one lane of one device (all CPU devices share theirs), and the tasks ready for them.
class WorkerPool {
 public:
  static constexpr int kChain = 64;  // successors that a thread runs in a row before others get their turn

  // Idle workers help `team`, if there is one. Each place has an equal share of the workers, who stay on its CPUs.
  WorkerPool(ThreadedEngine& engine, Device device, Lane lane, int threads, Team* team,
             std::vector<std::vector<int>> places);
  ~WorkerPool();

  void submit(Task* task, ThreadState& state);  // from the thread of that state
  // A ready task for a waiting thread that is none of the workers; null if there is none that it may run.
  Task* take_for_guest(ThreadState& state);
  // From one of this pool's workers: whether a successor may run now, past the others; and how many tasks it ran.
  bool may_pass(const Worker& worker) noexcept { return queues_.pass(worker.index); }
  void ran(const Worker& worker, int tasks) { queues_.ran(worker.index, tasks); }
  bool urgent() const noexcept { return urgent_.count.load(std::memory_order_relaxed) > 0; }
  // True if a ready task has a higher priority than `priority`.
  bool has_higher(int priority) const noexcept;
  // Sees to it that `count` workers look for work, if as many are idle; those of the group `near` first.
  void wake(int count, int near = 0) noexcept;
  void stop();  // ends the threads once nothing is ready
  void start();
  void run_worker(Worker& worker);

  Device device() const noexcept { return device_; }
  Lane lane() const noexcept { return lane_; }
  const std::vector<std::unique_ptr<Worker>>& workers() const noexcept { return workers_; }
  void forget_threads() noexcept;  // in the child of a fork

  DeviceQueue* queue = nullptr;  // where this lane's tasks put device work; null on hosts

 private:
  // Ready tasks of other than the default priority: highest first, then oldest.
  struct Heap {
    static constexpr int kNothing = INT32_MIN;
    struct Item {
      int priority;
      uint64_t order;
      Task* task;
    };
    SpinLock lock;
    std::vector<Item> items;
    uint64_t pushed = 0;
    std::atomic<int> count{0};
    std::atomic<int> top{kNothing};
    void push(Task* task);
    Task* pop();
    Task* pop_for_guest();
  };

  // Neighbours, who sleep and wake by a word of their own.
  struct alignas(64) Group {
    std::atomic<uint64_t> idle{0};     // sleeping workers << 32 | searching workers
    std::atomic<uint32_t> permits{0};  // wake-ups granted and not yet taken
  };
  // Whether others want the cores, by what giving way has cost.
  class alignas(64) Crowd {
   public:
    bool is_there() const noexcept;
    bool pushes_aside() noexcept;

   private:
    std::atomic<std::chrono::nanoseconds> until_{std::chrono::nanoseconds{0}},
        rest_{std::chrono::nanoseconds{0}};
  };
  static constexpr int kGroup = 16;
  static std::vector<int> first_workers(int threads, int places);

  Group& group_of(const Worker& worker) noexcept {
    return groups_[static_cast<size_t>(queues_.group_of(worker.index))];
  }
  static int wake_in(Group& group, int count) noexcept;
  Task* take(Worker& worker);
  Task* search(Worker& worker);
  Task* linger(Worker& worker);
  Task* search_or_sleep(Worker& worker);
  bool search_actively(Worker& worker, Task** task);
  void leave_search(Worker& worker) noexcept;
  void help(Worker& worker);
  bool has_work() const noexcept;
  bool has_work_or_loop() const noexcept { return has_work() || team_wants_help(); }
  bool team_wants_help() const noexcept { return team_ != nullptr && team_->wants_help(); }
  static bool sleep(Group& group);

  ThreadedEngine& engine_;
  const Device device_;
  const Lane lane_;
  Team* const team_;
  const std::vector<std::vector<int>> places_;
  ReadyQueues<> queues_;
  std::vector<Group> groups_;
  Crowd crowd_;
  std::atomic<bool> stopping_{false};
  Heap urgent_;
  Heap leisurely_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace loomix::engine
