// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "engine/trace.h"

namespace loomix::engine {

// When devices worked on each kernel, copy and fill, as NVIDIA's CUPTI tells it while a trace is on. A thread says which task it issues
// work for; CUPTI notes that with each call of CUDA, and numbers the call, and each kernel has the number of the call that brought it: for
// a graph, of its launch. So the trace has each task on the row of its stream from its first kernel to its last, and its kernels within.
//
// One for the process, as CUPTI is. Thread-safe.
class KernelTimes : public TraceSource {
 public:
  // Begins to record, if it does not yet. Null where that cannot be done: there is no CUPTI, or it refused. The log says which, once, and
  // it stays like that.
  static KernelTimes* recording() noexcept;
  static void complete(uint64_t task) noexcept;  // the device is done with it

  virtual uint64_t begin_task() noexcept = 0;  // what this thread calls from now on is for it
  virtual void drop_task() noexcept = 0;       // by the same thread: it was not for the trace
  virtual void end_task(uint64_t task, Trace& trace, std::string track, std::string name) = 0;  // likewise

 protected:
  ~KernelTimes() = default;
};

}  // namespace loomix::engine
