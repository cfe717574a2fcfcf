// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <typeinfo>

#include <cuda_runtime_api.h>

namespace loomix::standin {

// The launch of a kernel. Profilers know it by the function in which the lambda of that type was written: by default the work; a graph
// knows it by that, too, and by its grid.
struct Launch {
  const std::type_info* lambda = nullptr;
  dim3 blocks = 1, threads = 1;
};

// Runs the work after what was put on the stream before; at once where the stream is null.
void put_on(cudaStream_t stream, std::function<void()> work, const Launch& launch = {});

enum class Kind { kernel, fill, copy, call };

// What a profiler knows of a work.
struct Label {
  Kind kind = Kind::kernel;
  const std::type_info* lambda = nullptr;  // of a kernel
  int from = 0, to = 0;                    // of a copy: see place_of()
  int device = 0;
};

// Who hears of what is called and done, if anybody.
struct Listener {
  uint32_t (*called)();  // work was asked for by this thread; the number of the call
  void (*done)(uint32_t call, const Label& label, std::chrono::steady_clock::time_point begin);
};
extern std::atomic<const Listener*> listener;

// What the device did was wrong; it takes no more work, and says so.
void note_error(const char* what);

// What a call returns that did what it should.
cudaError_t status();

// For calls that a thread must not make while it captures, nor anybody on a stream that is captured: ends the capture as a failure.
bool forbidden(cudaStream_t on = nullptr);

// The device whose memory this is, or one of these.
constexpr int kPinned = -1, kElsewhere = -2;
int place_of(const void* at);

}  // namespace loomix::standin
