// SPDX-License-Identifier: Apache-2.0
//
// CUPTI gives us buffers of records, from threads of its own or while we flush. They are read at once, and kept until the trace wants
// them. Two locks: one is held while recording begins, ends or is asked for what it has, when CUPTI calls us back. The other one guards
// what was read, and is a leaf: under it nobody calls CUPTI but the reader of a buffer, whom CUPTI called.
#include "engine/device/cuda/kernel_times.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "engine/device/cuda/activity_library.h"
#include "engine/device/cuda/kernel_rows.h"

namespace loomix::engine {
namespace {

// The records of these libraries begin alike: the headers of CUDA 13.0 and 13.5 have the fields that are read below in the same places, and
// versions of a record between them add to its end.
constexpr uint32_t kOldestVersion = 130000, kNewestVersion = 130599;
using Kernel = CUpti_ActivityKernel10;
using Copy = CUpti_ActivityMemcpy6;
using PeerCopy = CUpti_ActivityMemcpyPtoP4;
using Fill = CUpti_ActivityMemset4;
using CallOfTask = CUpti_ActivityExternalCorrelation;

// Calls of CUDA are there because what a thread calls them for is told with them only.
constexpr std::array kKinds{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                            CUPTI_ACTIVITY_KIND_RUNTIME,
                            CUPTI_ACTIVITY_KIND_DRIVER,
                            CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                            CUPTI_ACTIVITY_KIND_MEMCPY,
                            CUPTI_ACTIVITY_KIND_MEMCPY2,
                            CUPTI_ACTIVITY_KIND_MEMSET};
constexpr auto kTask = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
constexpr size_t kBufferBytes = size_t{1} << 21;
constexpr size_t kBufferAlignment = 8;
constexpr size_t kMostCalls = 4 * Trace::kLimit;  // events are recorded and streams joined by calls, too

const char* copy_name(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD: return "copy from the host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH: return "copy to the host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD: return "copy on the device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP: return "copy to another device";
    default: return "copy";
  }
}

const char* advice(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return " The driver lets administrators profile only; its option NVreg_RestrictProfilingToAdminUsers=0 "
             "lets all.";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: return " Another profiler uses it.";
    default: return "";
  }
}

class Recorder final : public KernelTimes {
 public:
  bool start() noexcept;

  uint64_t begin_task() noexcept override {
    const uint64_t task = tasks_begun_.fetch_add(1, std::memory_order_relaxed) + 1;
    library_->push_id(kTask, task);
    return task;
  }
  void drop_task() noexcept override {
    uint64_t task = 0;
    library_->pop_id(kTask, &task);
  }
  void end_task(uint64_t task, Trace& trace, std::string track, std::string name) override {
    drop_task();
    {
      const std::lock_guard lock(mutex_);
      tasks_.insert_or_assign(task, Task{&trace, std::move(track), std::move(name)});
      trace_ = &trace;
    }
    trace.attach(*this);
  }
  void complete(uint64_t task) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = tasks_.find(task);
    if (found != tasks_.end()) found->second.is_complete = true;
  }

  void tell() override;
  void stop() override;
  void forget(const Trace& trace) noexcept override;
  void read(uint8_t* buffer, size_t bytes) noexcept;

 private:
  struct Task {
    Trace* trace;
    std::string track;
    std::string name;
    bool is_complete = false;
    bool may_be_told = false;
  };
  struct Record {
    DeviceActivity activity;
    uint32_t call;
    uint32_t device;
  };
  // What belongs together; no task: of the device, for nobody.
  struct Group {
    Task* task;
    uint32_t device;
    std::vector<DeviceActivity> activities;
  };

  bool is_on() const { return running_.load() && process_ == getpid(); }
  std::string begin();  // what was refused; "" if nothing was
  std::string refusal(const char* call, CUptiResult result) const;
  void end();
  size_t dropped_by_library() const;
  void take(const CUpti_Activity& record);
  void keep(const char* category, const std::string& name, uint64_t begin, uint64_t end, uint32_t call,
            uint32_t device);
  const std::string& plain_name(const char* mangled);
  Task* task_of(uint32_t call);
  std::vector<Group> take_groups(bool all);
  void tell_records(bool all);

  std::mutex control_;  // held while recording begins, ends, or is asked for what it has
  const ActivityLibrary* library_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  size_t num_kinds_ = 0;  // of kKinds, that are enabled
  bool refused_ = false;
  pid_t process_ = 0;
  std::atomic<bool> running_{false};
  std::atomic<uint64_t> tasks_begun_{0};

  std::mutex mutex_;  // guards what follows
  std::unordered_map<uint64_t, Task> tasks_;
  std::unordered_map<uint32_t, uint64_t> calls_;  // of CUDA, by their numbers: the task
  std::vector<Record> records_;
  std::map<std::string, std::string, std::less<>> names_;  // of kernels, by the mangled ones
  KernelRows rows_;
  Trace* trace_ = nullptr;  // for what belongs to no task
  size_t num_dropped_ = 0;
};

Recorder& recorder() {
  static Recorder& all = *new Recorder;  // CUPTI may call until the process ends
  return all;
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as fit
}
void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t used) {
  recorder().read(buffer, used);
  std::free(buffer);
}
void CUPTIAPI hear_nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
uint64_t CUPTIAPI host_clock() { return static_cast<uint64_t>(Trace::now()); }

// ---- begin and end --------------------------------------------------------------------------------------------------

bool Recorder::start() noexcept {
  if (running_.load(std::memory_order_acquire)) [[likely]]
    return true;
  const std::lock_guard lock(control_);
  if (running_.load() || refused_) return !refused_;
  try {
    const std::string refused = begin();
    if (refused.empty()) {
      running_.store(true);
      return true;
    }
    end();
    log(library_ == nullptr ? LogLevel::info : LogLevel::warning,
        "[profiler] {} Operators have times, by events; kernels have none.", refused);
  } catch (const std::bad_alloc&) {}  // no memory to say so
  refused_ = true;
  return false;
}

std::string Recorder::refusal(const char* call, CUptiResult result) const {
  if (result == CUPTI_SUCCESS) return "";
  const char* text = nullptr;
  if (library_->result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "an unknown error";
  return fmt::format("CUPTI refuses {}: {}.{}", call, text, advice(result));
}

std::string Recorder::begin() {
  library_ = activity_library();
  if (library_ == nullptr) return "CUPTI is not there; nvidia-cuda-cupti is a package that has it.";
  uint32_t version = 0;
  if (const std::string no = refusal("cuptiGetVersion", library_->get_version(&version)); !no.empty())
    return no;
  if (version < kOldestVersion || version > kNewestVersion)
    return fmt::format("CUPTI's version is {}; known are {} to {}.", version, kOldestVersion, kNewestVersion);
  {
    const std::lock_guard lock(mutex_);
    tasks_.clear();  // of tasks that ended as the last recording did
  }
  const CUptiResult subscribed = library_->subscribe(&subscriber_, hear_nothing, nullptr);
  if (subscribed != CUPTI_SUCCESS) subscriber_ = nullptr;
  if (const std::string no = refusal("cuptiSubscribe", subscribed); !no.empty()) return no;
  for (const auto& [call, result] :
       {std::pair("cuptiActivityRegisterTimestampCallback", library_->register_clock(host_clock)),
        std::pair("cuptiActivityRegisterCallbacks", library_->register_buffers(give_buffer, take_buffer))}) {
    if (const std::string no = refusal(call, result); !no.empty()) return no;
  }
  process_ = getpid();
  for (const CUpti_ActivityKind kind : kKinds) {
    if (const std::string no = refusal("cuptiActivityEnable", library_->enable(kind)); !no.empty()) return no;
    ++num_kinds_;
  }
  return "";
}

// What was begun, as far as it was.
void Recorder::end() {
  while (num_kinds_ > 0) library_->disable(kKinds[--num_kinds_]);
  if (subscriber_ != nullptr) library_->unsubscribe(std::exchange(subscriber_, nullptr));
}

void Recorder::stop() {
  if (!is_on()) return;  // in a forked child the locks may be held by nobody who is there
  const std::lock_guard lock(control_);
  if (!is_on()) return;
  running_.store(false);
  library_->flush(0);
  end();
  library_->flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);  // with what has not ended, which is left out
  tell_records(true);
  size_t dropped = dropped_by_library();  // after the last buffer
  {
    const std::lock_guard own(mutex_);
    tasks_.clear();
    calls_.clear();
    rows_.clear();
    trace_ = nullptr;
    dropped += std::exchange(num_dropped_, 0);
  }
  if (dropped > 0)
    log(LogLevel::warning, "[profiler] {} times of kernels were lost for want of room.", dropped);
}

void Recorder::forget(const Trace& trace) noexcept {
  if (process_ != getpid()) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(tasks_, [&](const auto& entry) { return entry.second.trace == &trace; });
  if (trace_ == &trace) trace_ = nullptr;
}

// ---- records --------------------------------------------------------------------------------------------------------

void Recorder::read(uint8_t* buffer, size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  CUpti_Activity* record = nullptr;
  while (library_->next_record(buffer, bytes, &record) == CUPTI_SUCCESS) {
    try {
      take(*record);
    } catch (const std::bad_alloc&) {
      ++num_dropped_;
    }
  }
  num_dropped_ += dropped_by_library();
}

// Since it was asked last.
size_t Recorder::dropped_by_library() const {
  size_t dropped = 0;
  return library_->dropped_records(nullptr, 0, &dropped) == CUPTI_SUCCESS ? dropped : 0;
}

void Recorder::take(const CUpti_Activity& record) {
  static const std::string kFill = "fill";
  const auto keep_as = [&](const char* category, const std::string& name, const auto& of) {
    keep(category, name, of.start, of.end, of.correlationId, of.deviceId);
  };
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& call = reinterpret_cast<const CallOfTask&>(record);
      if (call.externalKind != kTask) return;
      if (calls_.size() < kMostCalls) calls_[call.correlationId] = call.externalId;
      else ++num_dropped_;
      return;
    }
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const Kernel&>(record);
      return keep_as("kernel", plain_name(kernel.name), kernel);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const Copy&>(record);
      return keep_as("copy", plain_name(copy_name(copy.copyKind)), copy);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& copy = reinterpret_cast<const PeerCopy&>(record);
      return keep_as("copy", plain_name(copy_name(copy.copyKind)), copy);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: return keep_as("fill", kFill, reinterpret_cast<const Fill&>(record));
    default: return;  // calls of CUDA
  }
}

void Recorder::keep(const char* category, const std::string& name, uint64_t begin, uint64_t end,
                    uint32_t call, uint32_t device) {
  if (begin == 0 || end < begin) return;  // it has not ended, or its times are not known
  if (records_.size() >= Trace::kLimit) {
    ++num_dropped_;
    return;
  }
  records_.push_back(
      {{&name, category, static_cast<int64_t>(begin), static_cast<int64_t>(end)}, call, device});
}

const std::string& Recorder::plain_name(const char* mangled) {
  const std::string_view key = mangled == nullptr ? "a kernel" : mangled;
  auto found = names_.find(key);
  if (found == names_.end())
    found = names_.emplace(std::string(key), kernel_name(std::string(key).c_str())).first;
  return found->second;
}

Recorder::Task* Recorder::task_of(uint32_t call) {
  const auto id = calls_.find(call);
  if (id == calls_.end()) return nullptr;
  const auto task = tasks_.find(id->second);
  return task == tasks_.end() ? nullptr : &task->second;
}

// Those of tasks that are complete, or all; the others stay. Groups come in the order in which they began.
std::vector<Recorder::Group> Recorder::take_groups(bool all) {
  std::ranges::sort(records_, {}, [](const Record& record) { return record.activity.begin; });
  std::vector<Group> groups;
  std::map<std::pair<Task*, uint32_t>, size_t> places;
  std::vector<Record> left;
  for (const Record& record : records_) {
    Task* const task = task_of(record.call);
    if (!all && (task == nullptr || !task->may_be_told)) {
      left.push_back(record);
      continue;
    }
    const auto [place, is_new] =
        places.try_emplace({task, task == nullptr ? record.device : 0}, groups.size());
    if (is_new) groups.push_back({task, record.device, {}});
    groups[place->second].activities.push_back(record.activity);
  }
  records_ = std::move(left);
  return groups;
}

void Recorder::tell_records(bool all) {
  const std::lock_guard lock(mutex_);
  for (const Group& group : take_groups(all)) {
    if (group.task != nullptr) {
      rows_.add_task(*group.task->trace, group.task->track, group.task->name, group.activities);
    } else if (trace_ != nullptr) {
      rows_.add_others(*trace_, fmt::format("gpu({}) other work", group.device), group.activities);
    }
  }
}

// Tasks that are complete now have all their records when the buffers are back; those that end meanwhile may lack some.
void Recorder::tell() {
  if (!is_on()) return;
  const std::lock_guard lock(control_);
  if (!is_on()) return;
  {
    const std::lock_guard own(mutex_);
    for (auto& [id, task] : tasks_) task.may_be_told = task.is_complete;
  }
  library_->flush(0);
  tell_records(false);
}

}  // namespace

KernelTimes* KernelTimes::recording() noexcept { return recorder().start() ? &recorder() : nullptr; }
void KernelTimes::complete(uint64_t task) noexcept { recorder().complete(task); }

}  // namespace loomix::engine
