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

#include "engine/core_tokens.h"
#include "engine/device/device_runtime.h"
#include "engine/engine.h"
#include "engine/poison.h"
#include "engine/task.h"
#include "engine/team.h"
#include "engine/thread_state.h"
#include "engine/trace.h"
#include "engine/worker_pool.h"

namespace loomix::engine {

// The product: see the top of threaded_engine.cc for how it works. Every function may be called from any thread.
class alignas(64) ThreadedEngine final : public Engine, public CompletionSink {
 public:
  explicit ThreadedEngine(EngineOptions options);
  ~ThreadedEngine() override;
  // An engine whose work does not end by the exit deadline is left to the system, threads and all.
  static void operator delete(ThreadedEngine* engine, std::destroying_delete_t);

  void push(TaskInfo info, std::span<const Tag> tags, Work work) override;
  void push_async(TaskInfo info, std::span<const Tag> tags, AsyncWork work) override;
  void wait(Var& var) override { wait_for(var, false); }
  void wait_to_write(Var& var) override { wait_for(var, true); }
  void wait_all() override;
  bool is_ready(Var& var) override;
  int16_t exchange_push_priority(int16_t priority) override;
  DeviceRuntime& device(Device device) override { return devices_->get(device); }
  const EngineOptions& options() const override { return options_; }
  EngineStats stats() const override;
  Trace& trace() override { return trace_; }
  void shutdown() override;
  void complete(void* task, std::exception_ptr error) noexcept override;

  // For the workers of a pool.
  ThreadState& enter_worker(Worker& worker);
  void leave_worker(ThreadState& state) noexcept;
  void worker_idle(ThreadState& state) noexcept;
  void worker_sleeps(Worker& worker) noexcept;
  void worker_wakes(Worker& worker) noexcept;
  void worker_helps() noexcept;  // before it runs parts of a loop
  void run_from_queue(Task* task, ThreadState& state, RunContext& context);

  // For fork, in this order. The first waits for host work and returns the name of a task that is late, or "".
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
  enum class Gate : uint32_t { open, forking, closed, broken };

  ThreadState& this_thread();
  ThreadState& attach_thread();
  ThreadState* state_of_this_thread() const noexcept;  // null: it has none yet
  WorkerPool& pool_for(Device device, Lane lane);
  WorkerPool& start_pool(Device device, Lane lane);

  Task* prepare(ThreadState& state, TaskInfo& info, std::span<const Tag> tags);
  void check_usable(Gate gate) const;
  void pass_gate(ThreadState& state);
  void admit(ThreadState& state, const TaskInfo& info);
  void take_credit(ThreadState& state);
  void await_bytes(ThreadState& state, const TaskInfo& info);
  void set_nodes(Task& task, std::span<const Tag> tags);
  uint32_t enter_queues(Task& task);
  bool hold_for_tokens(Task& task);
  static size_t bytes_slot(Device device) noexcept;
  void launch(Task* task, ThreadState& state, bool inline_allowed);
  bool may_run_inline(const Task& task, const ThreadState& state) const;
  void run_inline(Task* task, ThreadState& state);
  void dispatch(ReadyList& ready, ThreadState& state);

  bool run(Task* task, ThreadState& state, RunContext& context);
  bool invoke(Task* task, ThreadState& state, RunContext& context, Task* outer);
  void leave_body(ThreadState& state, Task* outer) noexcept;
  void run_direct(Task* task, ThreadState& state, ReadyList& ready);
  void wait_on_device(Task& task, DeviceQueue& queue);
  std::exception_ptr record_on_device(Task& task, DeviceQueue& queue) noexcept;
  static Ref<Poison> poison_of(const Var& var);
  static Ref<Poison> data_poison(Var& var);
  bool skip_poisoned(Task& task);
  void end_async(Task& task) noexcept;
  void fail(Task& task, std::exception_ptr error) noexcept;
  void heal(Task& task) noexcept;
  void finish(Task* task, ThreadState& state, ReadyList& ready);
  void grant(AccessNode& node, ReadyList& ready);
  static std::string track_of(const Task& task, const ThreadState& state);

  void wait_for(Var& var, bool exclusive);
  bool ready_now(Var& var, bool exclusive, Ref<Poison>& poison);
  bool help(ThreadState& state, const Waiter& waiter);
  void check_may_wait(const ThreadState& state, const char* what) const;
  int64_t in_flight() const noexcept;
  bool drain(int64_t timeout_ns) noexcept;
  bool end_threads();
  bool reclaim(CompletionToken* pending);
  void finish_device_work() noexcept;
  int64_t completed_tasks() const noexcept;
  int64_t running_tasks() const noexcept;
  std::atomic<WorkerPool*>& pool_slot(Device device, Lane lane);
  std::string unfinished_task();
  void unlock_after_fork() noexcept;
  void notify_drained() noexcept;

  const EngineOptions options_;
  const uint64_t id_;
  CoreTokens cores_;
  Team team_;
  std::atomic<Gate> gate_{Gate::open};
  std::atomic<bool> careful_{
      false};  // some task has failed or some device is in use: look at poison and tokens
  std::atomic<uint32_t> drain_waiters_{0};
  std::atomic<uint32_t> drain_epoch_{0};
  std::string late_task_;  // in a forked child: why the engine is broken

  std::mutex threads_mutex_;                   // guards adding to states_
  std::atomic<ThreadState*> states_{nullptr};  // all ever made, by next_state
  std::mutex pools_mutex_;                     // guards starting pools
  std::atomic<WorkerPool*> host_pools_[kLanes] = {};
  std::atomic<WorkerPool*> device_pools_[2 * kMaxDevices][kLanes] = {};  // gpu, null
  std::vector<std::unique_ptr<WorkerPool>> pools_;
  std::vector<std::unique_ptr<WorkerPool>> retired_pools_;  // in a forked child: the parent's
  std::mutex inspect_mutex_;                                // held while a running task's description is read
  std::atomic<int64_t> bytes_in_flight_[64] = {};
  std::atomic<int64_t> tasks_short_of_memory_{0};  // that wait in reclaim()
  ErrorLog errors_;
  Trace trace_;
  std::unique_ptr<Devices> devices_;
};

}  // namespace loomix::engine
