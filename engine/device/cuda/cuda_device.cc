// SPDX-License-Identifier: Apache-2.0
//
// A queue is a stream; a token stands for all work on it up to a number, and costs nothing on the device. An event is recorded for
// many tokens at once: when somebody waits for one of them, and after each kTokensAnEvent of them. An event may stand for more
// work than the token that asked for it; whoever waits then waits a little longer. That would be long where graphs are launched, and
// where copies and stores wait for other streams: there each token has an event. Each queue has a thread that completes tokens in
// order, as their events happen: it looks for kPollTime, then sleeps in the driver. Workers issue and move on, and none of them
// waits. Successors on other streams wait by cudaStreamWaitEvent. Events are kept for reuse. The mutex guards the tokens that are not
// done, the recorded events, and those that are free.
//
// Work is recorded by capturing the stream, with the mutex held: else another thread could put an event into what is recorded.
//
// Branches are streams of the queue, too, which join its own one before anything else is put there. So tokens, and blocks that are
// freed with them, know of one stream only. Events order them, in a capture as outside of one; each is recorded again for each mark.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/settings.h"
#include "engine/device/cuda/check.h"
#include "engine/device/cuda/cuda_memory.h"
#include "engine/device/cuda/graph_parts.h"
#include "engine/device/cuda/stream_times.h"
#include "engine/device/device_runtime.h"

namespace loomix::engine {
namespace {

class CudaQueue;

// A graph as it came from a stream.
struct CapturedGraph {
  ~CapturedGraph() {
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  cudaGraph_t graph = nullptr;
  GraphParts parts;
};
using CapturedRef = std::shared_ptr<CapturedGraph>;

class CudaToken final : public CompletionToken {
 public:
  CudaToken(DeviceQueue& queue, uint64_t place) noexcept : CompletionToken(queue), number(place) {}
  const uint64_t number;

 private:
  void watch() override;
};

class CudaQueue final : public DeviceQueue {
 public:
  CudaQueue(int device, bool urgent) : device_(device), urgent_(urgent), times_(device) {
    check(cudaSetDevice(device_), "cudaSetDevice");
    stream_ = entered_ = make_stream();
    thread_ = std::thread([this] { complete_tokens(); });
  }
  ~CudaQueue() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
    cudaSetDevice(device_);
    for (const cudaEvent_t event : free_events_) cudaEventDestroy(event);
    for (const cudaEvent_t event : marks_) cudaEventDestroy(event);
    for (const cudaStream_t stream : beside_) cudaStreamDestroy(stream);
    cudaStreamDestroy(stream_);
  }

  Device device() const override { return Device::gpu(device_); }
  void enter_thread() override { check(cudaSetDevice(device_), "cudaSetDevice"); }
  void* native() override { return entered_; }
  void wait_for(CompletionToken& token) override {
    if (&token.queue() == this || token.done()) return;
    if (token.queue().device().type != DeviceType::gpu)
      return token.wait();  // another kind of device: no stream of ours can wait for it
    auto& given = static_cast<CudaToken&>(token);
    auto& other = static_cast<CudaQueue&>(token.queue());
    const std::lock_guard lock(other.mutex_);
    if (token.done() || given.number <= other.completed_) return;
    other.cover(given.number);
    // Under the lock, so that the event is not recorded anew meanwhile.
    const Recorded& covering = other.first_covering(given.number);
    if (covering.refusal == cudaSuccess)
      check(cudaStreamWaitEvent(stream_, covering.event, 0), "cudaStreamWaitEvent");
  }
  TokenRef record() override {
    LOOMIX_INTERNAL_CHECK(!is_recording());
    const std::lock_guard lock(mutex_);
    Ref<CudaToken> token = make_ref<CudaToken>(*this, ++issued_);
    pending_.push_back(token);
    if (after_graph_.exchange(false) || urgent_ || issued_ - covered_ >= kTokensAnEvent) cover(issued_);
    return token;
  }
  void copy(void* to, const void* from, size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, entered_), "cudaMemcpyAsync");
  }
  void fill(void* to, unsigned char byte, size_t bytes) override {
    check(cudaMemsetAsync(to, byte, bytes, entered_), "cudaMemsetAsync");
  }
  Ref<RecordedWork> record_work(const IssueParts& issue) override;
  std::unique_ptr<Branches> branches(int count) override;
  void begin_timing() noexcept override { times_.begin(entered_); }
  void end_timing(Trace& trace, std::string track, const char* name) override;
  bool is_recording() const noexcept override {
    return recorder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  CapturedRef capture(const IssueParts& issue);  // null if that cannot be done
  // Sees to it that the token of this number will be completed.
  void watch(uint64_t number) {
    const std::lock_guard lock(mutex_);
    cover(number);
  }

 private:
  friend class CudaBranches;
  friend class CudaGraph;
  cudaStream_t make_stream() const {
    int least = 0;
    int greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, urgent_ ? greatest : least),
          "cudaStreamCreateWithPriority");
    return stream;
  }

  static constexpr uint64_t kTokensAnEvent = 16;
  static constexpr auto kPollTime = std::chrono::microseconds(50);
  struct Recorded {
    uint64_t number;  // of the last token that it stands for
    cudaEvent_t event;
    cudaError_t refusal;  // of a device that takes no more events: what its tokens end with
  };

  // The caller holds the mutex.
  void cover(uint64_t number) {
    if (number <= covered_) return;
    int before = 0;
    cudaGetDevice(&before);
    if (before != device_) cudaSetDevice(device_);
    cudaEvent_t event = nullptr;
    cudaError_t status = cudaSuccess;
    if (!free_events_.empty()) {
      event = free_events_.back();
      free_events_.pop_back();
    } else {
      status = cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync);
    }
    if (status == cudaSuccess) status = cudaEventRecord(event, stream_);
    if (before != device_) cudaSetDevice(before);
    covered_ = issued_;
    events_.push_back({covered_, event, status});
    changed_.notify_one();
  }
  const Recorded& first_covering(uint64_t number) const {
    return *std::ranges::lower_bound(events_, number, {}, &Recorded::number);
  }

  static cudaError_t wait_for_event(const Recorded& recorded) {
    if (recorded.refusal != cudaSuccess) return recorded.refusal;
    const auto end = std::chrono::steady_clock::now() + kPollTime;
    do {
      const cudaError_t status = cudaEventQuery(recorded.event);
      if (status != cudaErrorNotReady) return status;
    } while (std::chrono::steady_clock::now() < end);
    return cudaEventSynchronize(recorded.event);
  }
  void tell_times(uint64_t number) {
    std::vector<StreamTimes::Span> spans = times_.take(number);
    if (!spans.empty()) times_.tell(std::move(spans));
  }
  void complete_tokens() {
    cudaSetDevice(device_);
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !events_.empty(); });
      if (events_.empty()) {
        if (pending_.empty()) return;
        cover(issued_);
      }
      const Recorded next = events_.front();  // stays in the list: others may wait for it
      lock.unlock();
      std::exception_ptr error;
      try {
        check(wait_for_event(next), "work on the device");
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      std::vector<Ref<CudaToken>> done;
      while (!pending_.empty() && pending_.front()->number <= next.number) {
        done.push_back(std::move(pending_.front()));
        pending_.pop_front();
      }
      completed_ = next.number;
      events_.pop_front();
      if (next.event != nullptr) free_events_.push_back(next.event);
      lock.unlock();
      tell_times(next.number);  // first, so that whoever waited for the work finds them
      for (const Ref<CudaToken>& token : done) token->complete(error);
      done.clear();
      lock.lock();
    }
  }

  const int device_;
  const bool urgent_;
  cudaStream_t stream_ = nullptr;
  cudaStream_t entered_ = nullptr;    // of the branch that work goes to
  std::vector<cudaStream_t> beside_;  // of branches from 1 on; these and their events belong to the worker
  std::vector<cudaEvent_t> marks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ref<CudaToken>> pending_;
  std::deque<Recorded> events_;  // numbers grow
  std::vector<cudaEvent_t> free_events_;
  uint64_t issued_ = 0;     // tokens given
  uint64_t covered_ = 0;    // by events
  uint64_t completed_ = 0;  // whose events have happened
  bool stopping_ = false;
  std::atomic<bool> after_graph_{false};  // one was launched after the last token
  StreamTimes times_;
  std::atomic<std::thread::id> recorder_{};  // the thread that records work
  std::thread thread_;
};

class CudaBranches final : public Branches {
 public:
  CudaBranches(CudaQueue& queue, int count) : queue_(queue), used_(static_cast<size_t>(count)) {
    while (queue_.beside_.size() + 1 < used_.size()) queue_.beside_.push_back(queue_.make_stream());
    used_[0] = true;
    begin_ = mark();
  }
  ~CudaBranches() override { queue_.entered_ = queue_.stream_; }
  void* enter(int branch) override {
    const auto at = static_cast<size_t>(branch);
    queue_.entered_ = branch == 0 ? queue_.stream_ : queue_.beside_[at - 1];
    if (!used_[at]) follow(begin_);
    used_[at] = true;
    return queue_.entered_;
  }
  size_t mark() override {
    if (num_marks_ == queue_.marks_.size()) {
      cudaEvent_t event = nullptr;
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
      queue_.marks_.push_back(event);
    }
    check(cudaEventRecord(queue_.marks_[num_marks_], queue_.entered_), "cudaEventRecord");
    return num_marks_++;
  }
  void follow(size_t mark) override {
    check(cudaStreamWaitEvent(queue_.entered_, queue_.marks_[mark], 0), "cudaStreamWaitEvent");
  }
  void join() override {
    for (size_t branch = 1; branch < used_.size(); ++branch) {
      if (!used_[branch]) continue;
      enter(static_cast<int>(branch));
      const size_t end = mark();
      enter(0);
      follow(end);
    }
    enter(0);
  }

 private:
  CudaQueue& queue_;
  std::vector<char> used_;
  size_t num_marks_ = 0;
  size_t begin_ = 0;
};

// A graph that was captured from a queue's stream. It is destroyed when its last launch is done.
class CudaGraph final : public RecordedWork {
 public:
  CudaGraph(CudaQueue& queue, CapturedRef from, cudaGraphExec_t graph) noexcept
      : queue_(queue), from_(std::move(from)), latest_(from_), graph_(graph) {}
  ~CudaGraph() override { destroy(graph_); }
  void launch() override {
    check(cudaGraphLaunch(graph_, static_cast<cudaStream_t>(queue_.native())), "cudaGraphLaunch");
    queue_.after_graph_ = true;
  }
  bool renew(const IssueParts& issue) override {
    const CapturedRef captured = queue_.capture(issue);
    if (!captured) return false;
    cudaGraphExecUpdateResultInfo info{};
    latest_ = captured;
    if (cudaGraphExecUpdate(graph_, captured->graph, &info) == cudaSuccess) return true;
    cudaGetLastError();  // later calls must not see it
    const cudaGraphExec_t made = make(captured->graph);
    if (made == nullptr) return false;
    from_ = captured;
    destroy(std::exchange(graph_, made));
    return true;
  }
  bool renew_parts(std::span<const size_t> parts, const IssueParts& issue) override {
    const CapturedRef captured = queue_.capture(issue);
    return captured && from_->parts.set(graph_, parts, latest_->parts, captured->parts);
  }

  // Null if the device refuses.
  static cudaGraphExec_t make(cudaGraph_t graph) noexcept {
    cudaGraphExec_t made = nullptr;
    if (cudaGraphInstantiate(&made, graph, 0) == cudaSuccess) return made;
    cudaGetLastError();  // later calls must not see it
    return nullptr;
  }

 private:
  void destroy(cudaGraphExec_t graph) const {
    const auto destroy = [graph] { cudaGraphExecDestroy(graph); };
    if (!queue_.record()->subscribe(destroy)) destroy();
  }

  CudaQueue& queue_;
  CapturedRef from_;    // its nodes are the handles of those of `graph_`
  CapturedRef latest_;  // that all of `graph_` was updated by
  cudaGraphExec_t graph_;
};

CapturedRef CudaQueue::capture(const IssueParts& issue) {
  class Parts final : public WorkParts {
   public:
    Parts(const CudaQueue& queue, GraphParts& parts) : queue_(queue), parts_(parts) {}
    void begin() override { parts_.begin(queue_.entered_); }
    void end() override { parts_.end(queue_.entered_); }

   private:
    const CudaQueue& queue_;
    GraphParts& parts_;
  };
  auto captured = std::make_shared<CapturedGraph>();
  Parts parts(*this, captured->parts);
  const std::lock_guard lock(mutex_);
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  recorder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  bool issued = true;
  try {
    issue(parts);
  } catch (...) {
    issued =
        false;  // whoever asked does the work as usual then, which fails again if capturing was not the reason
  }
  recorder_.store({}, std::memory_order_relaxed);
  const cudaError_t status = cudaStreamEndCapture(stream_, &captured->graph);
  if (status != cudaSuccess) cudaGetLastError();  // it was the capture's; later calls must not see it
  return issued && status == cudaSuccess ? captured : nullptr;
}

Ref<RecordedWork> CudaQueue::record_work(const IssueParts& issue) {
  CapturedRef captured = capture(issue);
  if (!captured) return {};
  const cudaGraphExec_t ready = CudaGraph::make(captured->graph);
  return ready == nullptr ? Ref<RecordedWork>() : make_ref<CudaGraph>(*this, std::move(captured), ready);
}

std::unique_ptr<Branches> CudaQueue::branches(int count) {
  return std::make_unique<CudaBranches>(*this, count);
}

// Under the lock, so that the next token stands for this work, too.
void CudaQueue::end_timing(Trace& trace, std::string track, const char* name) {
  const auto branch = std::ranges::find(beside_, entered_);
  if (branch != beside_.end()) track += fmt::format(" {}", branch - beside_.begin() + 2);
  times_.end_task(trace, track, name);
  const std::lock_guard lock(mutex_);
  times_.end(entered_, issued_ + 1, trace, std::move(track), name);
}

void CudaToken::watch() { static_cast<CudaQueue&>(queue()).watch(number); }

class CudaRuntime final : public DeviceRuntime {
 public:
  CudaRuntime(Device device, const EngineOptions& options)
      : device_(device),
        device_memory_(device.to_string(), make_cuda_source(device.id, MemoryKind::device),
                       {.held = options.pool_bytes, .exact = !settings().cuda_pool}),
        pinned_memory_(device.to_string() + " pinned", make_cuda_source(device.id, MemoryKind::pinned)),
        unified_memory_(device.to_string() + " unified",
                        make_cuda_source(device.id, MemoryKind::cuda_managed), {.held = options.pool_bytes}) {
  }

  Device device() const override { return device_; }
  // A card of today moves some hundred times the bytes that one core does; the pass that recomputes needs no more than that.
  DeviceTraits traits() const noexcept override {
    // cuDNN's tensor cores want their images so, and others are converted for them. Float32 is multiplied there as TF32 only.
    constexpr DTypeSet kHalf{DType::float16, DType::bfloat16};
    constexpr DTypeSet kWithSingle{DType::float16, DType::bfloat16, DType::float32};
    return {.channels_last = settings().cuda_conv_tf32 ? kWithSingle : kHalf,
            .closed_operators = true,
            .fused_chains = true,
            .sparse_arrays = true,
            .records_work = true,
            .alignment = 256,
            .speed = 200,
            .launch_ns = 2500};
  }
  DeviceQueue* queue(Lane lane) override {
    const std::lock_guard lock(mutex_);
    auto& queue = queues_[lane];
    if (!queue) queue = std::make_unique<CudaQueue>(device_.id, lane != Lane::compute);
    return queue.get();
  }
  MemoryPool& memory(MemoryKind kind) override {
    switch (kind) {
      case MemoryKind::device:
      case MemoryKind::managed: return device_memory_;
      case MemoryKind::pinned: return pinned_memory_;
      case MemoryKind::cuda_managed: return unified_memory_;
      case MemoryKind::host: break;
    }
    throw DeviceError(
        fmt::format("[engine] {} has no host memory; it has device, pinned, managed and cuda_managed.",
                    device_.to_string()));
  }
  std::vector<MemoryPool*> pools() override { return {&device_memory_, &pinned_memory_, &unified_memory_}; }
  void synchronize() override {
    std::vector<DeviceQueue*> queues;
    {
      const std::lock_guard lock(mutex_);
      for (auto& [lane, queue] : queues_) queues.push_back(queue.get());
    }
    check(cudaSetDevice(device_.id), "cudaSetDevice");
    for (DeviceQueue* const queue : queues) {
      const TokenRef token = queue->record();
      token->wait();
      if (token->error()) std::rethrow_exception(token->error());
    }
  }
  void copy_now(void* to, const void* from, size_t bytes) override {
    check(cudaSetDevice(device_.id), "cudaSetDevice");
    const std::lock_guard lock(copy_mutex_);
    if (copy_stream_ == nullptr)
      check(cudaStreamCreateWithPriority(&copy_stream_, cudaStreamNonBlocking, 0),
            "cudaStreamCreateWithPriority");
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, copy_stream_), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(copy_stream_), "a copy");
  }
  ~CudaRuntime() override {
    if (copy_stream_ != nullptr) cudaStreamDestroy(copy_stream_);
  }

 private:
  const Device device_;
  MemoryPool device_memory_;
  MemoryPool pinned_memory_;
  MemoryPool unified_memory_;
  std::mutex mutex_;
  std::map<Lane, std::unique_ptr<CudaQueue>> queues_;
  std::mutex copy_mutex_;
  cudaStream_t copy_stream_ = nullptr;
};

int count_devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

[[noreturn]] void throw_driver_too_old(Device device) {
  int driver = 0, needed = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&needed);
  const auto version = [](int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); };
  throw DeviceError(fmt::format(
      "[cuda] {} needs a driver for CUDA {}; {}. Update the driver, or use cpu().", device.to_string(),
      version(needed), driver == 0 ? "there is none here" : "the one here is for CUDA " + version(driver)));
}

std::unique_ptr<DeviceRuntime> open_device(Device device, const EngineOptions& options) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) throw_driver_too_old(device);
  const std::string what = "looking for " + device.to_string();
  check(status, what.c_str());
  return std::make_unique<CudaRuntime>(device, options);
}

std::unique_ptr<MemorySource> pinned_source() { return make_cuda_source(0, MemoryKind::pinned); }

}  // namespace
}  // namespace loomix::engine

// The module's door: see load_module_symbol().
extern "C" [[gnu::visibility("default")]] const loomix::engine::DeviceModule loomix_cuda_devices{
    loomix::engine::kDeviceModuleVersion, loomix::engine::count_devices, loomix::engine::open_device,
    loomix::engine::pinned_source};
