// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/device/device_runtime.h"
#include "engine/engine.h"
#include "engine/poison.h"
#include "engine/task_parts.h"
#include "engine/trace.h"

namespace loomix::engine {

// Runs each task at its push, one at a time, and an asynchronous one until it completes; what a running task pushes
// runs right after it. Written for reading: what the threaded engine does must look the same to a program.
class NaiveEngine final : public Engine, public RunsParts, public CompletionSink {
 public:
  explicit NaiveEngine(EngineOptions options);
  ~NaiveEngine() override;

  void push(TaskInfo info, std::span<const Tag> tags, Work work) override;
  void push_async(TaskInfo info, std::span<const Tag> tags, AsyncWork work) override;
  void push_parts(TaskInfo info, std::span<const Tag> tags, PartsWork work) override;
  void wait(Var& var) override;
  void wait_to_write(Var& var) override { wait(var); }
  void wait_all() override;
  bool is_ready(Var&) override { return true; }
  int16_t exchange_push_priority(int16_t) override { return 0; }
  bool exchange_for_task(bool for_task) override;
  bool drain(int) noexcept override { return true; }
  SideThreads& side_threads() override { return side_threads_; }
  DeviceRuntime& device(Device device) override { return devices_.get(device); }
  const EngineOptions& options() const override { return options_; }
  EngineStats stats() const override { return stats_; }
  Trace& trace() override { return trace_; }
  void shutdown() override { closed_ = true; }
  void complete(void* task, std::exception_ptr error) noexcept override;

 private:
  struct Entry;
  struct Turn;
  class Parts;
  std::unique_ptr<Entry> make_entry(TaskInfo info, std::span<const Tag> tags);
  void enqueue(std::unique_ptr<Entry> entry);
  void run(Entry& entry);
  void run_parts(Entry& entry);
  std::exception_ptr invoke(Entry& entry);
  std::unique_lock<std::mutex> take(std::mutex& turn) const;
  void check_may_wait(const char* what) const;

  const EngineOptions options_;
  std::mutex turn_;  // held by the thread whose task runs
  std::mutex
      for_task_turn_;  // the same for what is pushed for an asynchronous task, inside of that one's turn
  std::mutex completion_mutex_;
  std::condition_variable completed_;
  ErrorLog errors_;
  EngineStats stats_;
  Trace trace_;
  Devices devices_;
  SideThreads side_threads_;
  bool closed_ = false;
};

}  // namespace loomix::engine
