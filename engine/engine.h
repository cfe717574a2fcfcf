// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/ref_counted.h"
#include "engine/inline_function.h"
#include "engine/options.h"
#include "engine/side_threads.h"
#include "engine/var.h"

// The engine runs tasks ordered by the Vars that they name. Tasks that share a Var behave as if run in push order:
// readers may overlap, a writer runs alone. Tasks that share no Var may run at any time and on any worker.
namespace loomix::engine {

class DeviceQueue;
class DeviceRuntime;
class Team;
class Trace;

// `write` carries data, and so errors; `use` orders exclusively but carries none (generators, workspaces, channels).
// A Var named as read and written is exclusive, and the task is skipped while it is poisoned (in-place and partial
// writes); named as written only, it is overwritten whole, which heals it.
enum class Access : uint8_t { read, write, use };
enum class Lane : uint8_t { compute, copy_in, copy_out, communicate, io };
inline constexpr int kLanes = 5;

struct Tag {
  Var* var;
  Access access;
};

// Says what a task is; called only when it failed or is traced, on any thread. `context` is kept alive by the task.
struct Describe {
  std::string (*text)(const void* context) = nullptr;  // operator, node, attributes, shapes, source line
  const char* (*name)(const void* context) = nullptr;  // short: the operator's name, for traces
  Ref<RefCounted> context;                             // passed as RefCounted*
};

// What the body of a task sees of the worker that runs it.
class RunContext {
 public:
  Device device;
  int cores = 1;           // how many threads parallel_for may use here, as workers fall idle
  int threads = 1;         // how many threads a library may start: cores that were idle when the body began
  Team* team = nullptr;    // the threads of parallel_for; null: only this one
  void* stream = nullptr;  // the device's native stream (cudaStream_t); null on hosts
  DeviceQueue* queue = nullptr;  // the same as an object of the engine's; null on hosts
};

using Work = InlineFunction<void(RunContext&), 64>;

// Where a Completion reports to; engines implement it.
class CompletionSink {
 public:
  virtual void complete(void* task, std::exception_ptr error) noexcept = 0;

 protected:
  ~CompletionSink() = default;
};

// Ends an asynchronous task, from any thread: exactly one of done() and fail(). Dropping it unused fails the task, so
// no hang is silent.
class Completion {
 public:
  Completion(CompletionSink& sink, void* task) noexcept : sink_(&sink), task_(task) {}
  Completion(Completion&& other) noexcept : sink_(std::exchange(other.sink_, nullptr)), task_(other.task_) {}
  Completion& operator=(Completion&& other) noexcept {
    if (this != &other) {
      drop();
      sink_ = std::exchange(other.sink_, nullptr);
      task_ = other.task_;
    }
    return *this;
  }
  ~Completion() { drop(); }
  void done() { finish(nullptr); }
  void fail(std::exception_ptr error);

 private:
  void finish(std::exception_ptr error);
  void drop() noexcept {
    if (sink_) drop_unused();
  }
  void drop_unused() noexcept;
  CompletionSink* sink_;
  void* task_;
};
using AsyncWork = InlineFunction<void(RunContext&, Completion), 64>;

struct TaskInfo {
  Device device = Device::cpu();
  Lane lane = Lane::compute;
  int16_t priority = 0;    // higher runs earlier within a lane; 0: what PushPriority says, if anything
  bool may_inline = true;  // false: never on the pushing thread, nor on a waiting one (Python, blocking work)
  bool may_be_unused = false;  // read-ahead: its error shows where the written Vars are read, not in wait_all
  uint8_t max_cores = 1;       // tokens that the task can use
  uint32_t cost_ns =
      1000;  // estimate; at most EngineOptions::inline_cost_ns allows running at once on the pushing thread
  int64_t bytes = 0;  // memory that lives until the task has run, for bounding run-ahead; 0 where it is small
  Describe describe = {};
};

// Counts since the engine's start.
struct EngineStats {
  int64_t pushed = 0;
  int64_t ran_inline = 0;           // on the pushing thread
  int64_t ran_waiting = 0;          // on a thread that waited
  std::vector<int64_t> ran_worker;  // per host compute worker, out of the queues
  int64_t poisoned_vars = 0;  // now: while there are any, each task looks for the errors of what it reads
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Returns at once, but that beyond the bounds of run-ahead it waits, unless called from a running task. Throws
  // only for a malformed call (null Var, missing device): errors of the work are stored in the written Vars.
  virtual void push(TaskInfo info, std::span<const Tag> tags, Work work) = 0;
  // The task completes when its Completion does; the body may return earlier.
  virtual void push_async(TaskInfo info, std::span<const Tag> tags, AsyncWork work) = 0;

  // All throw StateError when called inside a running task.
  virtual void wait(Var& var) = 0;           // for the last writer; throws while the data is poisoned
  virtual void wait_to_write(Var& var) = 0;  // for the readers, too
  virtual void wait_all() = 0;               // for everything; throws the first error not yet reported
  virtual bool is_ready(Var& var) = 0;       // true when wait() would not block

  // The priority of what this thread pushes without one; returns the one before. See PushPriority.
  virtual int16_t exchange_push_priority(int16_t priority) = 0;

  // Whether this thread works for an asynchronous task; returns what was said before. See ForTask.
  virtual bool exchange_for_task(bool for_task) = 0;

  // Makes every later read of `var` throw `error`, in program order.
  void poison(Var& var, std::exception_ptr error);
  VarRef new_var();

  // Streams and memory of a device; throws DeviceError where there is none.
  virtual DeviceRuntime& device(Device device) = 0;
  virtual const EngineOptions& options() const = 0;
  virtual EngineStats stats() const = 0;
  virtual Trace& trace() = 0;
  // Finishes the work in flight (up to the exit deadline) and ends the threads. Later pushes throw StateError.
  virtual void shutdown() = 0;
  // Waits until nothing is in flight; false after the timeout. Throws nothing, and reports no errors.
  virtual bool drain(int timeout_ms) noexcept = 0;
  // Threads for asynchronous tasks that wait.
  virtual SideThreads& side_threads() = 0;
};

// While it lives, what its thread pushes without a priority has this one (cut to 16 bits). Scopes nest. It does not reach
// what tasks push, even if they run on this thread.
class PushPriority {
 public:
  PushPriority(Engine& engine, int64_t priority)
      : engine_(engine), outer_(engine.exchange_push_priority(clamped(priority))) {}
  PushPriority(const PushPriority&) = delete;
  PushPriority& operator=(const PushPriority&) = delete;
  ~PushPriority() { engine_.exchange_push_priority(outer_); }
  static int16_t clamped(int64_t priority) {
    return static_cast<int16_t>(std::clamp<int64_t>(priority, INT16_MIN, INT16_MAX));
  }

 private:
  Engine& engine_;
  int16_t outer_;
};

// For a thread that does the work of an asynchronous task, until its Completion: what the thread pushes, and waits for, is
// let through where a task's pushes are (the bounds of run-ahead, a fork that waits for that task). Scopes nest.
class ForTask {
 public:
  explicit ForTask(Engine& engine) : engine_(engine), outer_(engine.exchange_for_task(true)) {}
  ForTask(const ForTask&) = delete;
  ForTask& operator=(const ForTask&) = delete;
  ~ForTask() { engine_.exchange_for_task(outer_); }

 private:
  Engine& engine_;
  bool outer_;
};

std::unique_ptr<Engine> make_threaded_engine(EngineOptions options = {});
// Runs every task at its push, one at a time: the oracle for tests, and a help in debugging.
std::unique_ptr<Engine> make_naive_engine(EngineOptions options = {});

}  // namespace loomix::engine
