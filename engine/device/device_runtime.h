// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/ref_counted.h"
#include "engine/device/completion_token.h"
#include "engine/device/device_traits.h"
#include "engine/device/memory_pool.h"
#include "engine/engine.h"

namespace loomix::engine {

// Is told where the parts of work begin and end while it is recorded.
class WorkParts {
 public:
  virtual ~WorkParts() = default;
  virtual void begin() = 0;
  virtual void end() = 0;
};
// Puts work on a queue.
using IssueParts = std::function<void(WorkParts&)>;

// What was put on a queue once, ready to be put there again as one piece.
class RecordedWork : public RefCounted {
 public:
  virtual void launch() = 0;  // on the queue that recorded it, by the worker that issues to it
  // Takes what `issue` puts on the queue in its place, for launches from now on; the same conditions as for record_work(). It is
  // cheaper where the works are the same with other parameters. False if they cannot be recorded: then this must not be launched again.
  virtual bool renew(const IssueParts& issue) = 0;
  // The same for these parts alone, in their order, if they may run where they did: other memory, say. False: use renew(), or do not launch.
  virtual bool renew_parts(std::span<const size_t> parts, const IssueParts& issue) = 0;
};

// Streams beside a queue's own, for work of which some parts need not wait for others. The one worker that issues to the queue uses
// them; until join() it puts nothing on the queue itself.
class Branches {
 public:
  virtual ~Branches() = default;
  // What is put on the queue from now on goes to this branch, after what the queue had before, and RunContext::stream has to be what
  // this returns. Branch 0 is the queue's own stream.
  virtual void* enter(int branch) = 0;
  virtual size_t mark() = 0;             // the end of what is on that branch now
  virtual void follow(size_t mark) = 0;  // what comes next on that branch starts after the mark
  virtual void join() = 0;               // the queue's own stream follows all branches, and is entered
};

// An ordered queue of work on a device (a CUDA stream). Calls come from the one worker that issues to it.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  virtual Device device() const = 0;
  virtual void enter_thread() {}  // called once by the worker that will issue here
  virtual void* native() = 0;     // cudaStream_t
  virtual void wait_for(
      CompletionToken& token) = 0;  // later work starts after the token; no host thread waits
  virtual TokenRef record() = 0;    // done when all earlier work is; from any thread
  virtual void copy(void* to, const void* from,
                    size_t bytes) = 0;  // between any two places that the device reaches
  virtual void fill(void* to, unsigned char byte, size_t bytes) = 0;
  // Records what `issue` puts on the queue instead of doing it. Null if the device cannot, or if some of the work cannot be recorded: then
  // nothing was done. Meanwhile `issue` may neither wait, nor allocate, nor record tokens.
  virtual Ref<RecordedWork> record_work(const IssueParts& issue) = 0;
  virtual bool is_recording() const noexcept { return false; }  // by the calling thread
  // So many, within record_work() or not; null where the device has none. The same streams each time.
  virtual std::unique_ptr<Branches> branches(int count) = 0;
  // When the device works on what is put on the queue between begin and end is told to the trace, as work of that name. The trace has it before
  // tokens are done that were recorded later. Nothing waits. Another begin without an end starts anew. A device may tell nothing.
  virtual void begin_timing() noexcept {}
  virtual void end_timing(Trace& /*trace*/, std::string /*track*/, const char* /*name*/) {}
};

// One device: its queues and its memory. Thread-safe.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;
  virtual Device device() const = 0;
  virtual DeviceTraits traits() const noexcept = 0;
  virtual DeviceQueue* queue(Lane lane) = 0;        // null on hosts; made on first use
  virtual MemoryPool& memory(MemoryKind kind) = 0;  // throws DeviceError for a kind that the device lacks
  virtual std::vector<MemoryPool*> pools() = 0;     // all that it has
  virtual void synchronize() = 0;                   // until all queues are done; throws the device's error
  // Copies between the device and a host, or within one of them, beside all queues, and waits for it. Any thread may call.
  virtual void copy_now(void* to, const void* from, size_t bytes) = 0;
};

std::unique_ptr<DeviceRuntime> make_cpu_runtime(const EngineOptions& options);
// Completes late, queues out of step with each other, so that schedulers are tested without hardware.
std::unique_ptr<DeviceRuntime> make_null_runtime(Device device, const EngineOptions& options);

// The devices of one engine, opened on first use.
class Devices {
 public:
  // `reclaimer` is given to every pool.
  Devices(const EngineOptions& options, MemoryPool::Reclaimer reclaimer);
  ~Devices();
  DeviceRuntime& get(Device device);  // throws DeviceError where there is none
  DeviceRuntime& cpu() noexcept { return *cpu_; }
  std::vector<DeviceRuntime*> opened() const;
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;
  // In a forked child: devices but the CPU are no longer usable, and their objects stay untouched.
  void close_in_child() noexcept;

 private:
  struct State;
  const EngineOptions& options_;
  const MemoryPool::Reclaimer reclaimer_;
  const std::unique_ptr<DeviceRuntime> cpu_;
  const std::unique_ptr<State> state_;
};

// Opens lib<name>.so from the folder of the library that holds this code and returns `symbol` of it; both stay for
// the life of the process. Throws DeviceError with `hint` when it cannot.
void* load_module_symbol(const char* name, const char* symbol, const char* hint);

// How many GPUs there are; 0 without the CUDA module.
int count_gpus() noexcept;
bool has_cuda_module() noexcept;
// Whether this process has opened a GPU.
bool gpus_in_use() noexcept;

// What the CUDA module exports as `loomix_cuda_devices`.
struct DeviceModule {
  int interface_version;
  int (*count)();
  std::unique_ptr<DeviceRuntime> (*open)(Device device, const EngineOptions& options);
  std::unique_ptr<MemorySource> (*pinned_source)();
};
inline constexpr int kDeviceModuleVersion = 4;

}  // namespace loomix::engine
