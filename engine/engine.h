// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>

#include "base/device.h"
#include "base/ref_counted.h"
#include "engine/inline_function.h"

// The engine runs tasks ordered by the Vars that they name. Tasks that share a Var behave as if run in push order:
// readers may overlap, a writer runs alone. Tasks that share no Var may run at any time and on any worker.
namespace loomix::engine {

class Var;
using VarRef = Ref<Var>;

// `write` carries data, and so errors; `use` orders exclusively but carries none (generators, workspaces, channels).
enum class Access : uint8_t { read, write, use };
enum class Lane : uint8_t { compute, copy_in, copy_out, communicate, io };

struct Tag {
  Var* var;
  Access access;
};

// Says what a task is; called only when it failed or is traced, on any thread. `context` is kept alive by the task.
struct Describe {
  std::string (*text)(const void* context) = nullptr;  // operator, node, attributes, shapes, source line
  const char* (*name)(const void* context) = nullptr;  // short: the operator's name, for traces
  Ref<RefCounted> context;
};

// What the body of a task sees of the worker that runs it.
class RunContext {
 public:
  Device device;
  int cores = 1;           // how many threads parallel_for may use here
  void* stream = nullptr;  // the device's queue; null on hosts
};

using Work = InlineFunction<void(RunContext&), 64>;

// Ends an asynchronous task: exactly one of done() and fail(). Dropping it unused fails the task, so no hang is silent.
class Completion {
 public:
  Completion(Completion&&) noexcept;
  Completion& operator=(Completion&&) noexcept;
  ~Completion();
  void done();
  void fail(std::exception_ptr error);
};
using AsyncWork = InlineFunction<void(RunContext&, Completion), 64>;

struct TaskInfo {
  Device device = Device::cpu();
  Lane lane = Lane::compute;
  int8_t priority = 0;       // higher runs earlier within a lane
  bool may_inline = true;    // false: never on the pushing thread (Python, blocking work)
  uint8_t max_cores = 1;     // tokens that the task can use
  uint32_t cost_ns = 1000;   // estimate; at most 5,000 allows running at once on the pushing thread
  Describe describe;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual void push(TaskInfo info, std::span<const Tag> tags, Work work) = 0;
  virtual void push_async(TaskInfo info, std::span<const Tag> tags, AsyncWork work) = 0;
  virtual void wait(Var& var) = 0;        // for the last writer; throws while the data is poisoned
  virtual void wait_all() = 0;            // throws the first error not yet reported
  virtual VarRef new_var() = 0;
};

}  // namespace loomix::engine
