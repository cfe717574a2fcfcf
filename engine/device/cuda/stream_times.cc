// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/stream_times.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace loomix::engine {
namespace {

// False if one of them has not happened, or the device fell over.
bool milliseconds(cudaEvent_t from, cudaEvent_t to, double& out) {
  float between = 0;
  if (cudaEventElapsedTime(&between, from, to) != cudaSuccess) {
    cudaGetLastError();  // later calls must not see it
    return false;
  }
  out = between;
  return true;
}

bool record(cudaEvent_t event, cudaStream_t stream) {
  if (cudaEventRecord(event, stream) == cudaSuccess) return true;
  cudaGetLastError();  // later calls must not see it
  return false;
}

int64_t nanoseconds(double milliseconds) { return std::llround(milliseconds * 1e6); }

}  // namespace

StreamTimes::~StreamTimes() {
  cudaSetDevice(device_);
  drop();
  for (const Span& span : spans_) {
    if (span.task != 0) continue;
    cudaEventDestroy(span.begin);
    cudaEventDestroy(span.end);
  }
  for (const cudaEvent_t event : free_) cudaEventDestroy(event);
  if (clock_ != nullptr) cudaEventDestroy(clock_);
  if (idle_ != nullptr) cudaStreamDestroy(idle_);
}

cudaEvent_t StreamTimes::new_event() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const cudaEvent_t event = free_.back();
      free_.pop_back();
      return event;
    }
  }
  cudaEvent_t event = nullptr;
  if (cudaEventCreateWithFlags(&event, cudaEventDefault) == cudaSuccess) return event;
  cudaGetLastError();  // later calls must not see it
  return nullptr;
}

void StreamTimes::give_back(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  free_.push_back(event);
}

void StreamTimes::begin(cudaStream_t stream) noexcept {
  if (kernels_ != nullptr) kernels_->drop_task();
  kernels_ = KernelTimes::recording();
  if (kernels_ != nullptr) {
    task_ = kernels_->begin_task();
    return;
  }
  if (begun_ == nullptr) begun_ = new_event();
  if (begun_ != nullptr && !record(begun_, stream)) drop();
}

void StreamTimes::drop() noexcept {
  if (begun_ != nullptr) cudaEventDestroy(std::exchange(begun_, nullptr));
}

void StreamTimes::end_task(Trace& trace, const std::string& track, const char* name) {
  if (kernels_ != nullptr) std::exchange(kernels_, nullptr)->end_task(task_, trace, track, name);
}

void StreamTimes::end(cudaStream_t stream, uint64_t number, Trace& trace, std::string track,
                      std::string name) {
  if (task_ != 0) {
    const std::lock_guard lock(mutex_);
    spans_.push_back({.number = number, .task = std::exchange(task_, 0)});
    return;
  }
  if (begun_ == nullptr) return;
  const cudaEvent_t event = new_event();
  if (event == nullptr || !record(event, stream)) {
    if (event != nullptr) cudaEventDestroy(event);
    return drop();
  }
  const std::lock_guard lock(mutex_);
  spans_.push_back(
      {number, 0, std::exchange(begun_, nullptr), event, &trace, std::move(track), std::move(name)});
}

std::vector<StreamTimes::Span> StreamTimes::take(uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto first_left =
      std::ranges::find_if(spans_, [number](const Span& span) { return span.number > number; });
  std::vector<Span> taken(std::make_move_iterator(spans_.begin()), std::make_move_iterator(first_left));
  spans_.erase(spans_.begin(), first_left);
  return taken;
}

void StreamTimes::tell(std::vector<Span> spans) {
  for (Span& span : spans) {
    if (span.task != 0) {
      KernelTimes::complete(span.task);
      continue;
    }
    double since = 0, length = 0;
    if (set_clock() && milliseconds(clock_, span.begin, since) &&
        milliseconds(span.begin, span.end, length)) {
      int64_t& ended = ended_[span.track];
      const int64_t begin = std::max(clock_ns_ + nanoseconds(since), ended);
      ended = begin + nanoseconds(length);
      span.trace->add(span.track, std::move(span.name), "device", begin, ended);
    }
    give_back(span.begin);
    give_back(span.end);
  }
}

// The host's clock at an event lies between two looks at it; of some tries the shortest counts.
bool StreamTimes::set_clock() {
  constexpr int64_t kSecond = 1'000'000'000;
  constexpr int kTries = 4;
  if (clock_ != nullptr && Trace::now() - clock_ns_ < kSecond) return true;
  if (idle_ == nullptr && cudaStreamCreateWithPriority(&idle_, cudaStreamNonBlocking, 0) != cudaSuccess) {
    cudaGetLastError();  // later calls must not see it
    return false;
  }
  int64_t shortest = kSecond;
  for (int i = 0; i < kTries; ++i) {
    const cudaEvent_t event = new_event();
    const int64_t before = Trace::now();
    const bool happened =
        event != nullptr && record(event, idle_) && cudaEventSynchronize(event) == cudaSuccess;
    const int64_t took = Trace::now() - before;
    if (!happened || took >= shortest) {
      if (event != nullptr) give_back(event);
      continue;
    }
    shortest = took;
    if (clock_ != nullptr) give_back(clock_);
    clock_ = event;
    clock_ns_ = before + took / 2;
  }
  return shortest < kSecond;
}

}  // namespace loomix::engine
