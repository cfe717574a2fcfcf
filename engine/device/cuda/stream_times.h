// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "engine/device/cuda/kernel_times.h"
#include "engine/trace.h"

namespace loomix::engine {

// When a device worked on what was put on the streams of one queue, for a trace. KernelTimes tells it where it can. Elsewhere an event is
// recorded before the work and one behind it; both are read when a token shows that they have happened, so nothing waits for the work. CUDA tells times between two events only.
// So an event on an idle stream, around which the host looks at its own clock, is where times are counted from. It is renewed each
// second: floats hold shorter times only, and clocks drift.
//
// The worker that issues calls begin(), end_task() and end(); the thread that completes tokens calls take() and tell(). What fails has no time;
// errors of the device show elsewhere.
class StreamTimes {
 public:
  struct Span {
    uint64_t number;  // it has ended when the token of this number is done
    uint64_t task;    // of KernelTimes, which has what it needs; 0: between events
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    Trace* trace = nullptr;
    std::string track = {};
    std::string name = {};
  };

  explicit StreamTimes(int device) noexcept : device_(device) {}
  ~StreamTimes();
  StreamTimes(const StreamTimes&) = delete;
  StreamTimes& operator=(const StreamTimes&) = delete;

  void begin(cudaStream_t stream) noexcept;  // anew, if there was no end
  // Before end(), and without locks, as all of a trace may be told if it has stopped.
  void end_task(Trace& trace, const std::string& track, const char* name);
  void end(cudaStream_t stream, uint64_t number, Trace& trace, std::string track, std::string name);

  std::vector<Span> take(uint64_t number);  // those that have ended with this token
  void tell(std::vector<Span> spans);       // to their traces

 private:
  void drop() noexcept;              // what has begun
  cudaEvent_t new_event() noexcept;  // null if there is none
  void give_back(cudaEvent_t event);
  bool set_clock();

  const int device_;
  // Of the worker:
  cudaEvent_t begun_ = nullptr;
  KernelTimes* kernels_ = nullptr;  // while `task_` is open
  uint64_t task_ = 0;
  std::mutex mutex_;  // guards the next two
  std::vector<Span> spans_;
  std::vector<cudaEvent_t> free_;
  // Of the thread that tells:
  cudaStream_t idle_ = nullptr;
  cudaEvent_t clock_ = nullptr;
  int64_t clock_ns_ = 0;  // when `clock_` happened, on the trace's clock
  std::map<std::string, int64_t>
      ended_;  // by track: a stream does one work at a time, however clocks were renewed
};

}  // namespace loomix::engine
