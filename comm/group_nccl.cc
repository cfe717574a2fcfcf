// SPDX-License-Identifier: Apache-2.0
//
// Communicators do not block: a call of NCCL's returns, and is waited for until the deadline. What runs on a stream is watched by a
// thread: each operation is between two events, and one that has begun and does not end in time is cut off together with its
// communicator. NCCL then ends the kernel as if all were well, so `failed_` is set before, and verify() tells those who asked.
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include <cuda_runtime.h>
#include <nccl.h>

#include "base/error.h"
#include "comm/device_group.h"

namespace loomix::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kWatch = std::chrono::milliseconds(50);      // between two looks at what is under way
constexpr auto kGoodbye = std::chrono::milliseconds(5000);  // at most, for other ranks at the end

void check(ncclResult_t code, const char* what) {
  LOOMIX_CHECK(code == ncclSuccess, NetworkError, "[comm] NCCL failed in {}: {}.", what,
               ncclGetErrorString(code));
}
void check(cudaError_t code, const char* what) {
  LOOMIX_CHECK(code == cudaSuccess, DeviceError, "[comm] CUDA failed in {}: {}.", what,
               cudaGetErrorString(code));
}

ncclDataType_t nccl_of(DType dtype, const char* who) {
  switch (dtype) {
    case DType::float32: return ncclFloat32;
    case DType::float64: return ncclFloat64;
    case DType::float16: return ncclFloat16;
    case DType::bfloat16: return ncclBfloat16;
    case DType::uint8: return ncclUint8;
    case DType::int8: return ncclInt8;
    case DType::int32: return ncclInt32;
    case DType::int64: return ncclInt64;
    default:
      throw TypeError(fmt::format("[{}] {} cannot be reduced; expected a floating or integer type.", who,
                                  name_of(dtype)));
  }
}
ncclRedOp_t nccl_of(Reduction reduction) {
  const ncclRedOp_t all[] = {ncclSum, ncclProd, ncclMin, ncclMax};
  return all[static_cast<size_t>(reduction)];
}

double seconds(GroupDeadline deadline) { return std::chrono::duration<double>(deadline).count(); }

class NcclGroup final : public DeviceGroup {
 public:
  NcclGroup(const std::string& id, int rank, int size, int device, GroupDeadline deadline)
      : device_(device), rank_(rank), size_(size), deadline_(deadline) {
    ncclUniqueId unique;
    LOOMIX_CHECK(id.size() == sizeof(unique), ValueError, "[comm] an id of NCCL has {} bytes; expected {}.",
                 id.size(), sizeof(unique));
    std::memcpy(&unique, id.data(), sizeof(unique));
    check(cudaSetDevice(device_), "cudaSetDevice");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    try {
      settle(ncclCommInitRankConfig(&ranks_, size_, unique, rank_, &config), "ncclCommInitRankConfig",
             deadline_);
      check(cudaMalloc(&nothing_, sizeof(float)), "cudaMalloc");
    } catch (...) {
      if (ranks_ != nullptr) ncclCommAbort(ranks_);
      throw;
    }
    watcher_ = std::thread([this] { watch(); });
  }
  ~NcclGroup() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    watcher_.join();
    cudaSetDevice(device_);
    if (!failed_) {
      try {
        settle(ncclCommFinalize(ranks_), "ncclCommFinalize", std::min<GroupDeadline>(deadline_, kGoodbye));
        ncclCommDestroy(ranks_);
      } catch (const Error&) {
        ncclCommAbort(ranks_);
      }
    }
    for (const Flight& flight : flights_) destroy(flight.events);
    for (const Events& events : idle_) destroy(events);
    cudaFree(nothing_);
  }
  std::string kind() const override { return "nccl"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce(const void* in, void* out, size_t count, DType dtype, Reduction reduction,
                  void* stream) override {
    const ncclDataType_t type = nccl_of(dtype, "all_reduce");
    put("all_reduce", stream,
        [&](cudaStream_t on) { return ncclAllReduce(in, out, count, type, nccl_of(reduction), ranks_, on); });
  }
  void broadcast(void* data, size_t bytes, int root, void* stream) override {
    check_rank(root, "broadcast");
    put("broadcast", stream,
        [&](cudaStream_t on) { return ncclBroadcast(data, data, bytes, ncclUint8, root, ranks_, on); });
  }
  void all_gather(const void* in, void* out, size_t bytes, void* stream) override {
    put("all_gather", stream,
        [&](cudaStream_t on) { return ncclAllGather(in, out, bytes, ncclUint8, ranks_, on); });
  }
  void reduce_scatter(const void* in, void* out, size_t count, DType dtype, Reduction reduction,
                      void* stream) override {
    const ncclDataType_t type = nccl_of(dtype, "reduce_scatter");
    put("reduce_scatter", stream, [&](cudaStream_t on) {
      return ncclReduceScatter(in, out, count, type, nccl_of(reduction), ranks_, on);
    });
  }
  void send(const void* data, size_t bytes, int to, void* stream) override {
    check_rank(to, "send");
    put("send", stream, [&](cudaStream_t on) { return ncclSend(data, bytes, ncclUint8, to, ranks_, on); });
  }
  void receive(void* data, size_t bytes, int from, void* stream) override {
    check_rank(from, "receive");
    put("receive", stream,
        [&](cudaStream_t on) { return ncclRecv(data, bytes, ncclUint8, from, ranks_, on); });
  }
  void barrier(void* stream) override {
    put("barrier", stream, [&](cudaStream_t on) {
      return ncclAllReduce(nothing_, nothing_, 1, ncclFloat32, ncclSum, ranks_, on);
    });
  }
  void verify() const override {
    if (failed_.load(std::memory_order_acquire)) throw NetworkError(failure_);
  }

 private:
  struct Events {
    cudaEvent_t begun = nullptr, ended = nullptr;
  };
  struct Flight {
    const char* what;
    Events events;
    Clock::time_point since = {};  // when the watcher first saw that it had begun
  };

  void check_rank(int rank, const char* what) const {
    LOOMIX_CHECK(rank >= 0 && rank < size_, ValueError, "[comm] {} with rank {}; expected 0 to {}.", what,
                 rank, size_ - 1);
  }

  template <class Call>
  void put(const char* what, void* stream, Call call) {
    const auto on = static_cast<cudaStream_t>(stream);
    const std::lock_guard lock(mutex_);
    verify();
    check(cudaSetDevice(device_), "cudaSetDevice");
    forget_finished();
    Events events;
    if (idle_.empty()) {
      check(cudaEventCreateWithFlags(&events.begun, cudaEventDisableTiming), "cudaEventCreate");
      check(cudaEventCreateWithFlags(&events.ended, cudaEventDisableTiming), "cudaEventCreate");
    } else {
      events = idle_.back();
      idle_.pop_back();
    }
    flights_.push_back({what, events});
    check(cudaEventRecord(events.begun, on), "cudaEventRecord");
    try {
      settle(call(on), what, deadline_);
    } catch (const NetworkError& error) {
      fail(error.what());
      throw;
    }
    check(cudaEventRecord(events.ended, on), "cudaEventRecord");
    changed_.notify_one();
  }

  // Until NCCL has done what it was asked for.
  void settle(ncclResult_t code, const char* what, GroupDeadline deadline) {
    const auto end = Clock::now() + deadline;
    for (auto nap = std::chrono::microseconds(10); code == ncclInProgress;
         nap = std::min(2 * nap, std::chrono::microseconds(2000))) {
      LOOMIX_CHECK(Clock::now() < end, NetworkError,
                   "[comm] rank {} of {} waited {:.1f} s in {}; other ranks did not come.", rank_, size_,
                   seconds(deadline), what);
      std::this_thread::sleep_for(nap);
      check(ncclCommGetAsyncError(ranks_, &code), what);
    }
    check(code, what);
  }

  void watch() {
    cudaSetDevice(device_);
    std::unique_lock lock(mutex_);
    while (!stopping_ && !failed_) {
      if (flights_.empty()) {
        changed_.wait(lock);
        continue;
      }
      changed_.wait_for(lock, kWatch, [this] { return stopping_; });
      if (stopping_ || failed_) return;
      forget_finished();
      const std::string why = what_is_wrong();
      if (!why.empty()) fail(why);
    }
  }

  std::string what_is_wrong() {
    ncclResult_t state = ncclSuccess;
    if (ncclCommGetAsyncError(ranks_, &state) != ncclSuccess ||
        (state != ncclSuccess && state != ncclInProgress)) {
      return fmt::format("[comm] NCCL failed at rank {} of {}: {}.", rank_, size_, ncclGetErrorString(state));
    }
    if (flights_.empty()) return {};
    Flight& oldest = flights_.front();
    const auto now = Clock::now();
    if (oldest.since == Clock::time_point{}) {
      if (cudaEventQuery(oldest.events.begun) == cudaSuccess) oldest.since = now;
    } else if (now - oldest.since > deadline_) {
      return fmt::format(
          "[comm] rank {} of {} waited {:.1f} s in {}; other ranks did not come, or called something else.",
          rank_, size_, seconds(deadline_), oldest.what);
    }
    return {};
  }

  void forget_finished() {
    while (!flights_.empty() && cudaEventQuery(flights_.front().events.ended) == cudaSuccess) {
      idle_.push_back(flights_.front().events);
      flights_.pop_front();
    }
  }

  void fail(const std::string& why) {
    failure_ = why;
    failed_.store(true, std::memory_order_release);
    ncclCommAbort(ranks_);
  }

  static void destroy(const Events& events) {
    cudaEventDestroy(events.begun);
    cudaEventDestroy(events.ended);
  }

  const int device_, rank_, size_;
  const GroupDeadline deadline_;
  ncclComm_t ranks_ = nullptr;
  void* nothing_ = nullptr;
  std::string failure_;  // written once, before failed_
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // guards what follows, and calls to NCCL
  std::condition_variable changed_;
  std::deque<Flight> flights_;
  std::vector<Events> idle_;
  bool stopping_ = false;
  std::thread watcher_;
};

std::string make_id() {
  ncclUniqueId unique;
  check(ncclGetUniqueId(&unique), "ncclGetUniqueId");
  return {reinterpret_cast<const char*>(&unique), sizeof(unique)};
}

// Ranks wait for each other, so each connects on a thread of its own.
std::vector<std::unique_ptr<DeviceGroup>> open(const std::string& id, int first, int size,
                                               std::span<const Device> devices, GroupDeadline deadline) {
  std::vector<std::future<std::unique_ptr<DeviceGroup>>> coming;
  for (size_t i = 0; i < devices.size(); ++i) {
    coming.push_back(std::async(std::launch::async, [&, i]() -> std::unique_ptr<DeviceGroup> {
      return std::make_unique<NcclGroup>(id, first + static_cast<int>(i), size, devices[i].id, deadline);
    }));
  }
  std::vector<std::unique_ptr<DeviceGroup>> groups;
  for (auto& one : coming) groups.push_back(one.get());
  return groups;
}

}  // namespace
}  // namespace loomix::comm

extern "C" [[gnu::visibility("default")]] const loomix::comm::NcclModule loomix_nccl_module;
const loomix::comm::NcclModule loomix_nccl_module = {loomix::comm::kGroupModuleVersion, loomix::comm::make_id,
                                                     loomix::comm::open};
