// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/task.h"

namespace loomix::engine {

struct Worker;

// What one thread keeps for one engine: its free tasks and its counts. Only the owner writes, but for `returned`, onto
// which other threads push tasks that they have run and whose home is here. When the thread ends, another one may
// take the state over.
struct alignas(64) ThreadState : RefCounted {
  ThreadState() noexcept = default;
  ~ThreadState() override = default;

  // A task with no body and room for `nodes` accesses.
  Task* take_task(size_t nodes) {
    if (free_count_ == 0) [[unlikely]]
      refill();
    Task* const task = free_tasks_[--free_count_];
    constexpr size_t kAhead = 4;  // tasks come back from other cores' caches
    if (free_count_ >= kAhead) {
      const char* const later = reinterpret_cast<const char*>(free_tasks_[free_count_ - kAhead]);
      __builtin_prefetch(later, 1);
      __builtin_prefetch(later + 128, 1);
    }
    if (nodes > Task::kInlineNodes) [[unlikely]]
      widen(*task, nodes);
    return task;
  }
  // Gives a finished task back to its home; tasks of other threads go in batches.
  void recycle(Task* task) noexcept {
    if (task->flags & kWideNodes) [[unlikely]]
      narrow(*task);
    if (task->home == this) {
      free_tasks_[free_count_++] = task;
      return;
    }
    if (task->home != return_home_ || return_count_ == returning_.size()) flush_returns();
    return_home_ = task->home;
    returning_[return_count_++] = task;
  }
  void flush_returns() noexcept;
  static void count(std::atomic<int64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // In the child of a fork, for a thread that stayed in the parent: the next owner begins anew.
  void abandon() noexcept;

  Worker* worker = nullptr;             // null: not one of the engine's threads
  std::atomic<Task*> current{nullptr};  // the task whose body runs on this thread
  int inline_depth = 0;
  bool for_task = false;      // works for an asynchronous task: see ForTask
  int16_t push_priority = 0;  // of pushes that name none
  int64_t credit = 0;         // pushes before the bounds are looked at again
  uint32_t inbox_cursor = 0;  // whose inbox its next tasks go to
  int omp_threads = 0;        // as last set for this thread; 0: never
  std::vector<uintptr_t> long_tags;
  ThreadState* next_state = nullptr;  // in the engine's list of all states; set once

 private:
  static constexpr size_t kSlabTasks = 64;
  void refill();
  static void widen(Task& task, size_t nodes);
  static void narrow(Task& task) noexcept;

  std::vector<Task*> free_tasks_;  // as large as there are tasks, of which the first `free_count_` are free
  size_t free_count_ = 0;
  ThreadState* return_home_ = nullptr;
  std::array<Task*, Task::kBatch + 1> returning_;  // to return_home_
  size_t return_count_ = 0;
  std::vector<std::unique_ptr<Task[]>> slabs_;

 public:
  alignas(64) std::atomic<Task*> returned{nullptr};  // carriers, by link
  alignas(64) std::atomic<int64_t> pushed{0};
  std::atomic<int64_t> completed{0};
  std::atomic<int64_t> ran_inline{0};
  std::atomic<int64_t> ran_waiting{0};
  std::atomic<bool> owned{true};  // by a living thread
};

}  // namespace loomix::engine
