// SPDX-License-Identifier: Apache-2.0
//
// CUDA's runtime on the host, for tests on machines without a GPU: memory is the host's, a stream is a thread that does its work in
// order, and events are counted. It is linked into the stand-in's build of the CUDA module in the place of libcudart. It shows that
// the module's calls and kernels are right; nothing of how fast a device is.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/standin/graphs.h"
#include "tests/standin/stream.h"

namespace {

using loomix::standin::all_joined;
using loomix::standin::copy_work;
using loomix::standin::fill_work;
using loomix::standin::Kind;
using loomix::standin::kPinned;
using loomix::standin::listener;
using loomix::standin::place_of;
using loomix::standin::play_graph;
using loomix::standin::run;
using loomix::standin::status;
using loomix::standin::Work;
using loomix::standin::Works;

struct Marks {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, reached = 0;
  std::chrono::steady_clock::time_point at;  // when it was reached

  void wait(uint64_t mark) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return reached >= mark; });
  }
};

// A device that has fallen over says so at every later call.
std::atomic<bool> fallen{false};
std::mutex reason_mutex;
std::string reason;

std::mutex streams_mutex;
std::set<cudaStream_t> streams;  // that were made and not destroyed

std::atomic<int> captures{0};  // going on

// What was asked of the device, for tests: see loomix_standin_counts().
struct Counts {
  std::atomic<long> graph_launches{0};
  std::atomic<long> works{0};       // kernels, copies, fills that were put on a stream outside of graphs
  std::atomic<long> reads{0};       // copies from the device's memory to the host's
  std::atomic<long> waits{0};       // of a thread for a stream
  std::atomic<long> recordings{0};  // of work, into graphs
  std::atomic<long> beside{0};      // works that were recorded on streams which joined a capture
  std::atomic<long> messages{0};    // copies from one device to another
  std::atomic<long> pinned{0};      // copies from page-locked memory to devices
  std::atomic<long> times{0};       // events with times that were recorded
} counts;

bool is_alive(cudaStream_t stream) {
  const std::lock_guard lock(streams_mutex);
  return streams.contains(stream);
}

}  // namespace

namespace {

// 0 if nobody listens.
uint32_t number_call() {
  const loomix::standin::Listener* const hears = listener.load();
  return hears == nullptr ? 0 : hears->called();
}

}  // namespace

// What goes on from cudaStreamBeginCapture to cudaStreamEndCapture, on the stream that began it and on those that wait for an event of
// it. The mutex of the streams guards it, too: one thread captures.
struct Capture {
  std::mutex mutex;
  Works works;
  const std::thread::id capturer = std::this_thread::get_id();
  std::vector<cudaStream_t> joined;
  bool broken = false;  // something was done meanwhile that a capture forbids
  bool ended = false;
};

struct CUevent_st {
  const bool has_time;
  const std::shared_ptr<Marks> marks = std::make_shared<Marks>();
  std::shared_ptr<Capture> captured = {};  // it was recorded in that last
  std::set<size_t> after = {};             // works of it
};

struct CUstream_st {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  bool stopping = false;
  std::thread thread{[this] { play(); }};

  std::shared_ptr<Capture> captured = {};  // while what is put here is captured
  std::set<size_t> after = {};             // works that the next one waits for
  bool has_joined = false;                 // another stream's capture
  std::vector<cudaGraphNode_t> ends = {};  // what was told of `after` last

  // Whether it went into what is captured.
  bool put(Work item, uint32_t call = 0) {
    {
      const std::lock_guard lock(mutex);
      if (captured) {
        const std::lock_guard own(captured->mutex);
        if (std::this_thread::get_id() != captured->capturer) captured->broken = true;
        std::vector<cudaGraphNode_t> before = nodes_before();
        captured->works.push_back(std::make_shared<CUgraphNode_st>(
            std::move(item), std::exchange(after, {captured->works.size()}), std::move(before)));
        if (has_joined) ++counts.beside;
        return true;
      }
      work.push_back([=, item = std::move(item)] { run(item, call); });
    }
    changed.notify_one();
    return false;
  }
  // What the next work waits for.
  std::vector<cudaGraphNode_t> nodes_before() const {
    std::vector<cudaGraphNode_t> nodes;
    for (const size_t place : after) nodes.push_back(captured->works[place].get());
    return nodes;
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

namespace {

bool is_captured(cudaStream_t stream) {
  if (stream == nullptr) return false;
  const std::lock_guard lock(stream->mutex);
  return stream->captured != nullptr;
}

}  // namespace

namespace loomix::standin {

cudaError_t status() { return fallen.load() ? cudaErrorLaunchFailure : cudaSuccess; }

bool forbidden(cudaStream_t on) {
  if (captures.load() == 0) return false;
  bool found = false;
  const std::lock_guard lock(streams_mutex);
  for (CUstream_st* const stream : streams) {
    const std::lock_guard own(stream->mutex);
    if (!stream->captured || (stream->captured->capturer != std::this_thread::get_id() && stream != on))
      continue;
    const std::lock_guard capture(stream->captured->mutex);
    stream->captured->broken = found = true;
  }
  return found;
}

namespace {

// Like put_on, for what is no work of its own.
void put_mark(cudaStream_t stream, std::function<void()> mark) {
  if (stream == nullptr) return mark();
  if (!is_alive(stream)) return note_error("a stream was used after it was destroyed");
  stream->put({.run = std::move(mark)});
}

void put_work(cudaStream_t stream, Work work) {
  if (stream == nullptr) return work.run();
  if (!is_alive(stream)) return note_error("a stream was used after it was destroyed");
  cudaGetDevice(&work.label.device);
  if (!stream->put(std::move(work), number_call())) ++counts.works;
}

}  // namespace

std::atomic<const Listener*> listener{nullptr};

void put_on(cudaStream_t stream, std::function<void()> work, const Launch& launch) {
  Launch known = launch;
  if (known.lambda == nullptr) known.lambda = &work.target_type();
  put_work(stream, {.run = std::move(work), .label = {.lambda = known.lambda}, .launch = known});
}

void note_error(const char* what) {
  const std::lock_guard lock(reason_mutex);
  if (!fallen.exchange(true)) reason = what;
}

}  // namespace loomix::standin

namespace {

cudaMemcpy3DParms rows_of(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                          size_t height) {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {const_cast<void*>(from), from_pitch, width, height};
  copy.dstPtr = {to, to_pitch, width, height};
  copy.extent = {width, height, 1};
  copy.kind = cudaMemcpyDefault;
  return copy;
}

}  // namespace

using loomix::standin::forbidden;
using loomix::standin::put_mark;
using loomix::standin::put_work;

extern "C" {

// Graph launches, works outside of graphs, copies from devices to the host, waits, recordings, works recorded beside others, copies between
// devices, copies from page-locked memory to devices, graphs made ready; since the process began.
void loomix_standin_counts(long* out) {
  for (const auto* count : {&counts.graph_launches, &counts.works, &counts.reads, &counts.waits,
                            &counts.recordings, &counts.beside, &counts.messages, &counts.pinned})
    *out++ = count->load();
  *out = loomix::standin::graphs_made();
}

// How many events were recorded whose time can be asked for.
long loomix_standin_times() { return counts.times.load(); }

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorLaunchFailure ? "cudaErrorLaunchFailure" : "an error";
}
const char* cudaGetErrorString(cudaError_t error) {
  if (error != cudaErrorLaunchFailure) return "an error of the stand-in";
  const std::lock_guard lock(reason_mutex);
  return reason.c_str();  // which is set once
}
cudaError_t cudaGetLastError() { return status(); }
cudaError_t cudaPeekAtLastError() { return status(); }
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const std::lock_guard lock(stream->mutex);
  if (stream->captured) return cudaErrorIllegalState;
  stream->captured = std::make_shared<Capture>();
  stream->after.clear();
  stream->has_joined = false;
  captures.fetch_add(1);
  return status();
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  std::shared_ptr<Capture> made;
  std::set<size_t> ends;
  {
    const std::lock_guard lock(stream->mutex);
    if (!stream->captured || stream->has_joined) return cudaErrorIllegalState;
    made = std::move(stream->captured);
    ends = stream->after;
  }
  captures.fetch_sub(1);
  ++counts.recordings;
  for (CUstream_st* const other : made->joined) {
    const std::lock_guard lock(other->mutex);
    other->captured.reset();
  }
  made->ended = true;
  if (made->broken) return cudaErrorStreamCaptureInvalidated;
  if (!all_joined(made->works, ends)) return cudaErrorStreamCaptureUnjoined;
  *graph = loomix::standin::make_graph(made->works);
  return status();
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* capturing,
                                     unsigned long long*, cudaGraph_t*, const cudaGraphNode_t** ends,
                                     const cudaGraphEdgeData**, size_t* count) {
  const std::lock_guard lock(stream->mutex);
  *capturing = stream->captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  if (!stream->captured) return status();
  const std::lock_guard own(stream->captured->mutex);
  stream->ends = stream->nodes_before();
  *ends = stream->ends.data();
  *count = stream->ends.size();
  return status();
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  ++counts.graph_launches;
  put_mark(stream,
           [works = loomix::standin::works_of(graph), call = number_call()] { play_graph(*works, call); });
  return status();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (forbidden(stream)) return cudaErrorStreamCaptureUnsupported;
  ++counts.waits;
  Marks marks;
  put_mark(stream, [&] {
    const std::lock_guard lock(marks.mutex);
    marks.reached = 1;
    marks.changed.notify_all();
  });
  marks.wait(1);
  return status();
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  put_work(stream, {.run = [=] { function(argument); }, .label = {.kind = Kind::call}});
  return status();
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  put_work(stream, fill_work({.dst = memory,
                              .pitch = 0,
                              .value = static_cast<unsigned>(value),
                              .elementSize = 1,
                              .width = bytes,
                              .height = 1}));
  return status();
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind, cudaStream_t stream) {
  put_work(stream, copy_work(rows_of(to, to_pitch, from, from_pitch, width, height)));
  return status();
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = new CUstream_st;
  const std::lock_guard lock(streams_mutex);
  streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    const std::lock_guard lock(streams_mutex);
    if (streams.erase(stream) == 0) {
      loomix::standin::note_error("a stream was destroyed twice");
      return status();
    }
  }
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
  if (event->captured) {
    if (event->captured->ended) return cudaErrorCapturedEvent;
    const std::lock_guard lock(stream->mutex);
    if (!stream->captured) {
      stream->captured = event->captured;
      stream->after.clear();
      stream->has_joined = true;
      event->captured->joined.push_back(stream);
    } else if (stream->captured != event->captured) {
      return cudaErrorStreamCaptureMerge;
    }
    stream->after.insert(event->after.begin(), event->after.end());
    return status();
  }
  if (is_captured(stream)) return cudaErrorStreamCaptureIsolation;
  uint64_t mark = 0;
  {
    const std::lock_guard lock(event->marks->mutex);
    mark = event->marks->recorded;
  }
  put_mark(stream, [marks = event->marks, mark] { marks->wait(mark); });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  const int source = place_of(from), place = place_of(to);
  if (source == kPinned && place >= 0) ++counts.pinned;
  if (source >= 0 && place < 0) ++counts.reads;
  if (source >= 0 && place >= 0 && source != place) ++counts.messages;
  put_work(stream, copy_work(rows_of(to, bytes, from, bytes, bytes, 1)));
  return status();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st{(flags & cudaEventDisableTiming) == 0};
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (event->has_time) ++counts.times;
  if (stream != nullptr) {
    const std::lock_guard lock(stream->mutex);
    event->captured = stream->captured;
    event->after = stream->after;
    if (event->captured) return status();
  }
  uint64_t mark = 0;
  {
    const std::lock_guard lock(event->marks->mutex);
    mark = ++event->marks->recorded;
  }
  put_mark(stream, [marks = event->marks, mark] {
    {
      const std::lock_guard lock(marks->mutex);
      marks->reached = std::max(marks->reached, mark);
      marks->at = std::chrono::steady_clock::now();
    }
    marks->changed.notify_all();
  });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (forbidden() || event->captured) return cudaErrorStreamCaptureUnsupported;
  const std::lock_guard lock(event->marks->mutex);
  return event->marks->reached >= event->marks->recorded ? status() : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (forbidden() || event->captured) return cudaErrorStreamCaptureUnsupported;
  uint64_t mark = 0;
  {
    const std::lock_guard lock(event->marks->mutex);
    mark = event->marks->recorded;
  }
  event->marks->wait(mark);
  return status();
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (!from->has_time || !to->has_time) return cudaErrorInvalidResourceHandle;
  std::chrono::steady_clock::time_point at[2];
  for (const cudaEvent_t event : {from, to}) {
    const std::lock_guard lock(event->marks->mutex);
    if (event->marks->recorded == 0) return cudaErrorInvalidResourceHandle;
    if (event->marks->reached < event->marks->recorded) return cudaErrorNotReady;
    at[event == to] = event->marks->at;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(at[1] - at[0]).count();
  return status();
}

}  // extern "C"
