// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/spin_lock.h"
#include "engine/task.h"
#include "engine/team.h"
#include "engine/thread_state.h"

namespace loomix::engine {

class ThreadedEngine;
class WorkerPool;

// One thread of a pool, with the ready tasks of default priority that it is going to run, oldest first.
struct alignas(64) Worker {
  void push(Task* task);                        // any thread
  void push_list(Task* first);                  // a list by `link`, oldest first
  Task* pop();                                  // the oldest, or null
  int steal_into(Worker& thief, Task** first);  // half of the tasks: one to *first, the others to the thief
  Task* pop_for_guest();                        // the oldest that may run on a foreign thread, or null
  bool empty() const noexcept { return size.load(std::memory_order_seq_cst) == 0; }

  SpinLock lock;  // guards ring and head; size is written under it
  uint32_t head = 0;
  std::vector<Task*> ring = std::vector<Task*>(256);  // a power of two
  std::atomic<uint32_t> size{0};
  WorkerPool* pool = nullptr;
  int index = 0;
  int cores = 0;  // core tokens that it holds: one while awake, if there was one
  std::thread thread;
  std::atomic<int64_t> ran{0};  // tasks out of the queues

 private:
  void append(Task* task);
};

// The threads that serve one lane of one device (all CPU devices share theirs), and the tasks ready for them.
class WorkerPool {
 public:
  static constexpr int kChain = 64;  // successors that a thread runs in a row before others get their turn

  // Idle workers help `team`, if there is one.
  WorkerPool(ThreadedEngine& engine, Device device, Lane lane, int threads, Team* team);
  ~WorkerPool();

  void submit(Task* task);                        // any thread
  void submit_local(Worker& worker, Task* task);  // from one of this pool's workers; default priority only
  // A ready task for a waiting thread that is none of the workers; null if there is none that it may run.
  Task* take_for_guest();
  bool urgent() const noexcept { return urgent_.count.load(std::memory_order_relaxed) > 0; }
  // True if a ready task has a higher priority than `priority`.
  bool has_higher(int priority) const noexcept;
  // Sees to it that `count` workers look for work, if as many are idle.
  void wake(int count) noexcept;
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

  Task* take(Worker& worker);
  Task* open_inbox(Worker& worker);
  Task* steal(Worker& worker);
  Task* search(Worker& worker);
  Task* search_or_sleep(Worker& worker);
  bool search_actively(Worker& worker, Task** task);
  void leave_search() noexcept;
  void help();
  bool has_work() const noexcept;
  bool has_work_or_loop() const noexcept { return has_work() || team_wants_help(); }
  bool team_wants_help() const noexcept { return team_ != nullptr && team_->wants_help(); }
  bool sleep();

  ThreadedEngine& engine_;
  const Device device_;
  const Lane lane_;
  Team* const team_;
  alignas(64) std::atomic<Task*> inbox_{nullptr};  // newest first
  alignas(64) std::atomic<uint64_t> idle_{0};      // sleeping workers << 32 | searching workers
  std::atomic<uint32_t> permits_{0};               // wake-ups granted and not yet taken
  std::atomic<bool> stopping_{false};
  Heap urgent_;
  Heap leisurely_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace loomix::engine
