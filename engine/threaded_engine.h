// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "engine/admission.h"
#include "engine/core_tokens.h"
#include "engine/device/device_runtime.h"
#include "engine/device/issued_work.h"
#include "engine/engine.h"
#include "engine/poison.h"
#include "engine/task.h"
#include "engine/task_parts.h"
#include "engine/team.h"
#include "engine/thread_state.h"
#include "engine/trace.h"
#include "engine/worker_pool.h"

namespace loomix::engine {

// The product: see the top of threaded_engine.cc for how it works. Every function may be called from any thread.
class alignas(64) ThreadedEngine final : public Engine, public RunsParts, public CompletionSink {
 public:
  explicit ThreadedEngine(EngineOptions options);
  ~ThreadedEngine() override;
  // An engine whose work does not end by the exit deadline is left to the system, threads and all.
  static void operator delete(ThreadedEngine* engine, std::destroying_delete_t);
  // Of one whose constructor threw: a destroying delete does not do for memory without an object.
  static void operator delete(void* memory, std::align_val_t alignment) noexcept {
    ::operator delete(memory, alignment);
  }

  void push(TaskInfo info, std::span<const Tag> tags, Work work) override;
  void push_async(TaskInfo info, std::span<const Tag> tags, AsyncWork work) override;
  void push_parts(TaskInfo info, std::span<const Tag> tags, PartsWork work) override;
  void wait(Var& var) override { wait_for(var, false); }
  void wait_to_write(Var& var) override { wait_for(var, true); }
  void wait_all() override;
  bool is_ready(Var& var) override;
  int16_t exchange_push_priority(int16_t priority) override;
  bool exchange_for_task(bool for_task) override;
  bool drain(int timeout_ms) noexcept override;
  SideThreads& side_threads() override { return side_threads_; }
  DeviceRuntime& device(Device device) override { return devices_->get(device); }
  const EngineOptions& options() const override { return options_; }
  EngineStats stats() const override;
  Trace& trace() override { return trace_; }
  void shutdown() override;
  void drop_computing();
  void complete(void* task, std::exception_ptr error) noexcept override;

  // For the workers of a pool.
  ThreadState& enter_worker(Worker& worker);
  void leave_worker(ThreadState& state) noexcept;
  void worker_idle(ThreadState& state) noexcept { admission_.nothing_to_do(state); }
  void worker_sleeps(Worker& worker) noexcept;
  void worker_wakes(Worker& worker) noexcept;
  void worker_helps() noexcept;  // before it runs parts of a loop
  void run_from_queue(Task* task, ThreadState& state, RunContext& context);

  // For fork, in this order. The first is for bindings (see fork.h). The second waits for host work and returns the name of
  // a task that is late, or "".
  void quiesce_for_fork();
  std::string prepare_fork();
  void resume_in_parent() noexcept;
  void restart_in_child(const std::string& late_task) noexcept;

 private:
  // Tasks that became ready, oldest first.
  struct ReadyList {
    Task* first = nullptr;
    Task* last = nullptr;
    void append(Task* task) noexcept {
      task->link = nullptr;
      (first ? last->link : first) = task;
      last = task;
    }
    Task* take() noexcept {
      Task* const task = first;
      if (task) first = task->link;
      return task;
    }
  };
  static constexpr int kMaxDevices = 16;
  class Parts;

  WorkerPool& pool_for(Device device, Lane lane);
  WorkerPool& start_pool(Device device, Lane lane);

  Task* prepare(ThreadState& state, TaskInfo& info, std::span<const Tag> tags);
  static void set_nodes(Task& task, std::span<const Tag> tags, std::vector<uintptr_t>& long_tags);
  uint32_t enter_queues(Task& task);
  bool hold_for_tokens(Task& task);
  bool may_inline(const TaskInfo& info) const {
    return info.may_inline && info.cost_ns <= options_.inline_cost_ns && options_.inline_cost_ns > 0;
  }
  void launch(Task* task, ThreadState& state, bool inline_allowed);
  bool may_run_inline(const Task& task, const ThreadState& state) const;
  void run_inline(Task* task, ThreadState& state);
  void dispatch(ReadyList& ready, ThreadState& state);

  bool run(Task* task, ThreadState& state, RunContext& context);
  bool invoke(Task* task, ThreadState& state, RunContext& context, Task* outer);
  void run_parts(Task& task, const ThreadState& state, RunContext& context);
  void leave_body(ThreadState& state, Task* outer) noexcept;
  void run_direct(Task* task, ThreadState& state, ReadyList& ready);
  bool begin_on_device(Task& task, DeviceQueue& queue);
  std::exception_ptr end_on_device(Task& task, DeviceQueue& queue, bool traced) noexcept;
  bool devices_used() const noexcept { return devices_used_.load(std::memory_order_relaxed); }
  bool looks_for_errors() const noexcept {
    return poisoned_->vars.load(std::memory_order_relaxed) > 0 || devices_used() ||
           dropping_.load(std::memory_order_relaxed);
  }
  Ref<Poison> poison_of(const Var& var) const;
  Ref<Poison> data_poison(Var& var) const;
  bool skip_poisoned(Task& task);
  bool skip_dropped(Task& task);
  void end_async(Task& task) noexcept;
  void fail(Task& task, std::exception_ptr error) noexcept;
  void heal(Task& task) noexcept;
  void finish(Task* task, ThreadState& state, ReadyList& ready);
  static std::string track_of(const Task& task, const ThreadState& state);
  static std::string stream_of(const Task& task);  // the track of what the device does

  void wait_for(Var& var, bool exclusive);
  bool ready_now(Var& var, bool exclusive, Ref<Poison>& poison);
  bool help(ThreadState& state, const Waiter& waiter);
  void check_may_wait(const ThreadState& state, const char* what) const;
  bool end_threads();
  bool reclaim(CompletionToken* pending);
  void finish_device_work() noexcept;
  std::atomic<WorkerPool*>& pool_slot(Device device, Lane lane);
  std::string unfinished_task();
  bool drain_for_fork() noexcept;
  void unlock_after_fork() noexcept;

  const EngineOptions options_;
  Admission admission_;
  CoreTokens cores_;
  Team team_;
  const Ref<PoisonCount> poisoned_ = make_ref<PoisonCount>();
  std::atomic<bool> devices_used_{false};  // since then, tasks look for device work before them
  IssuedWork issued_;

  std::atomic<bool> dropping_{false};  // computing that has not started
  Ref<Poison> dropped_;                // its error; set before that

  const std::vector<std::vector<int>> places_;  // of the compute lane's workers
  std::mutex pools_mutex_;                      // guards starting pools
  std::atomic<WorkerPool*> host_pools_[kLanes] = {};
  std::atomic<WorkerPool*> device_pools_[2 * kMaxDevices][kLanes] = {};  // gpu, null
  std::vector<std::unique_ptr<WorkerPool>> pools_;
  std::vector<std::unique_ptr<WorkerPool>> retired_pools_;  // in a forked child: the parent's
  std::mutex inspect_mutex_;                                // held while a running task's description is read
  std::atomic<int64_t> tasks_short_of_memory_{0};           // that wait in reclaim()
  ErrorLog errors_;
  Trace trace_;
  std::unique_ptr<Devices> devices_;
  SideThreads side_threads_;
};

}  // namespace loomix::engine
