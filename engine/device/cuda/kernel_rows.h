// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/trace.h"

namespace loomix::engine {

// A kernel, copy or fill that ran; times are nanoseconds on the trace's clock.
struct DeviceActivity {
  const std::string* name;
  const char* category;  // of the trace: "kernel", "copy", "fill"
  int64_t begin;
  int64_t end;
};

// Puts activities into a trace: those of a task on its row, within the task. What ran at the same time, in branches of a graph, gets further
// rows, as viewers show nested and consecutive events of a row only.
class KernelRows {
 public:
  // Sorted by begin, at least one.
  void add_task(Trace& trace, const std::string& track, const std::string& name,
                const std::vector<DeviceActivity>& activities);
  // Of no task that is known.
  void add_others(Trace& trace, const std::string& track, const std::vector<DeviceActivity>& activities);
  void clear() { free_from_.clear(); }

 private:
  void add(Trace& trace, const std::string& track, const DeviceActivity& activity, int64_t earliest);
  std::map<std::string, int64_t> free_from_;  // by row
};

// As people read it: a kernel's mangled name without its result and its parameters.
std::string kernel_name(const char* mangled);

}  // namespace loomix::engine
