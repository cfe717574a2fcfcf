// SPDX-License-Identifier: Apache-2.0
//
// CUDA's runtime on the host, for tests on machines without a GPU: memory is the host's, a stream is a thread that does its work in
// order, and events are counted. Preloaded (LD_PRELOAD), it takes the place of libcudart for the module libloomix_cuda.so. It shows that the module's calls are in order; nothing of what only a GPU does.
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <cuda_runtime_api.h>

#include "tests/standin/stream.h"

namespace {

constexpr int kDevices = 3;

struct Marks {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, reached = 0;

  void wait(uint64_t mark) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return reached >= mark; });
  }
};

}  // namespace

struct CUevent_st {
  const std::shared_ptr<Marks> marks = std::make_shared<Marks>();
};

struct CUstream_st {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  bool stopping = false;
  std::thread thread{[this] { play(); }};

  void put(std::function<void()> item) {
    {
      const std::lock_guard lock(mutex);
      work.push_back(std::move(item));
    }
    changed.notify_one();
  }
  void play() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return stopping || !work.empty(); });
      if (work.empty()) return;
      const std::function<void()> item = std::move(work.front());
      work.pop_front();
      lock.unlock();
      item();
      lock.lock();
    }
  }
};

namespace loomix::standin {

void put_on(cudaStream_t stream, std::function<void()> work) {
  if (stream == nullptr) return work();
  stream->put(std::move(work));
}

}  // namespace loomix::standin

using loomix::standin::put_on;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return device >= 0 && device < kDevices ? cudaSuccess : cudaErrorInvalidDevice;
}
const char* cudaGetErrorName(cudaError_t) { return "an error"; }
const char* cudaGetErrorString(cudaError_t) { return "an error of the stand-in"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t* left, size_t* total) {
  *left = *total = size_t{1} << 30;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaMallocManaged(void** memory, size_t bytes, unsigned) { return cudaMalloc(memory, bytes); }
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) { return cudaMalloc(memory, bytes); }
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    const std::lock_guard lock(stream->mutex);
    stream->stopping = true;
  }
  stream->changed.notify_one();
  stream->thread.join();
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  uint64_t mark = 0;
  {
    const std::lock_guard lock(event->marks->mutex);
    mark = event->marks->recorded;
  }
  put_on(stream, [marks = event->marks, mark] { marks->wait(mark); });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  put_on(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  uint64_t mark = 0;
  {
    const std::lock_guard lock(event->marks->mutex);
    mark = ++event->marks->recorded;
  }
  put_on(stream, [marks = event->marks, mark] {
    {
      const std::lock_guard lock(marks->mutex);
      marks->reached = std::max(marks->reached, mark);
    }
    marks->changed.notify_all();
  });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(event->marks->mutex);
  return event->marks->reached >= event->marks->recorded ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  uint64_t mark = 0;
  {
    const std::lock_guard lock(event->marks->mutex);
    mark = event->marks->recorded;
  }
  event->marks->wait(mark);
  return cudaSuccess;
}

}  // extern "C"
