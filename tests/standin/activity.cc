// SPDX-License-Identifier: Apache-2.0
//
// CUPTI's place: writes its records of what the stand-in ran. It is there only where a test says so, by loomix_standin_cupti(). It is as
// unkind as the real one may be: calls and kernels go to buffers of their own, those of kernels come back first, and all are small
// where a test says so.
#include "engine/device/cuda/activity_library.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/trace.h"
#include "tests/standin/stream.h"

namespace loomix::standin {
namespace {

struct Answers {
  bool is_there = false;
  uint32_t version = CUPTI_API_VERSION;
  std::string refused;  // the call that fails
  CUptiResult result = CUPTI_SUCCESS;
  size_t room = SIZE_MAX;  // of a buffer that is used
  size_t most_buffers = SIZE_MAX;
  uint64_t longer_ns = 0;  // than kernels are: as if they ran beside the next ones
} answers;
std::atomic<long> opened{0}, buffers{0}, listening{0};

CUptiResult answer(const char* call) { return answers.refused == call ? answers.result : CUPTI_SUCCESS; }

struct Buffer {
  uint8_t* begin = nullptr;
  size_t size = 0, used = 0;
};

std::mutex mutex;  // guards the next ones
Buffer calls, works;
std::set<CUpti_ActivityKind> kinds;
std::set<std::string> names;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc completed = nullptr;
CUpti_TimestampCallbackFunc host_clock = nullptr;

std::atomic<size_t> dropped{0};
std::atomic<uint32_t> num_calls{0};
std::atomic<bool> subscribed{false};
thread_local std::vector<uint64_t> ids;

size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    default: return sizeof(CUpti_ActivityExternalCorrelation);
  }
}

// The caller holds the mutex, as for the next one.
void give_back(Buffer& buffer) {
  if (buffer.begin != nullptr) completed(nullptr, 0, buffer.begin, buffer.size, buffer.used);
  buffer = {};
}

template <class Record>
void write(Buffer& to, const Record& record) {
  if (to.begin != nullptr && to.used + sizeof(Record) > to.size) give_back(to);
  if (to.begin == nullptr && static_cast<size_t>(buffers.load()) < answers.most_buffers) {
    size_t most = 0;
    request(&to.begin, &to.size, &most);
    to.size = std::min(to.size, answers.room);
    ++buffers;
  }
  if (to.begin == nullptr) {
    ++dropped;
    return;
  }
  std::memcpy(to.begin + to.used, &record, sizeof(Record));
  to.used += sizeof(Record);
}

uint32_t called() {
  const uint32_t call = ++num_calls;
  const std::lock_guard lock(mutex);
  if (kinds.contains(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) && !ids.empty()) {
    CUpti_ActivityExternalCorrelation known{};
    known.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    known.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    known.externalId = ids.back();
    known.correlationId = call;
    write(calls, known);
  }
  if (kinds.contains(CUPTI_ACTIVITY_KIND_RUNTIME)) {
    CUpti_ActivityAPI api{};
    api.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    api.correlationId = call;
    write(calls, api);
  }
  return call;
}

// The symbol of the function in which a lambda was written: its type is named Z, what the symbol has after _Z, and EUl...
const char* symbol(const std::type_info& lambda) {
  const std::string type = lambda.name();
  const size_t end = type.rfind("EUlvE");
  const bool is_local = type.starts_with('Z') && end != std::string::npos;
  return names.insert(is_local ? "_Z" + type.substr(1, end - 1) : type).first->c_str();
}

uint8_t copy_kind(const Label& label) {
  if (label.from < 0) return label.to < 0 ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOH : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  if (label.to < 0) return CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  return label.from == label.to ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
}

template <class Record>
void write_work(CUpti_ActivityKind kind, uint32_t call, const Label& label, uint64_t begin, Record record) {
  if (!kinds.contains(kind)) return;
  record.kind = kind;
  record.correlationId = call;
  record.deviceId = static_cast<uint32_t>(label.device);
  record.start = begin;
  record.end = host_clock() + answers.longer_ns;
  write(works, record);
}

void done(uint32_t call, const Label& label, std::chrono::steady_clock::time_point at) {
  const auto begin = static_cast<uint64_t>(at.time_since_epoch().count());
  const std::lock_guard lock(mutex);
  if (label.kind == Kind::kernel) {
    CUpti_ActivityKernel10 kernel{};
    kernel.name = symbol(*label.lambda);
    write_work(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, call, label, begin, kernel);
  } else if (label.kind == Kind::fill) {
    write_work(CUPTI_ACTIVITY_KIND_MEMSET, call, label, begin, CUpti_ActivityMemset4{});
  } else if (copy_kind(label) == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP) {
    CUpti_ActivityMemcpyPtoP4 copy{};
    copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    write_work(CUPTI_ACTIVITY_KIND_MEMCPY2, call, label, begin, copy);
  } else {
    CUpti_ActivityMemcpy6 copy{};
    copy.copyKind = copy_kind(label);
    write_work(CUPTI_ACTIVITY_KIND_MEMCPY, call, label, begin, copy);
  }
}

constexpr Listener kListener{called, done};

// ---- CUPTI's calls --------------------------------------------------------------------------------------------------

CUptiResult get_version(uint32_t* version) {
  *version = answers.version;
  return answer("cuptiGetVersion");
}
CUptiResult result_string(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
          : result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
              ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
              : "CUPTI_ERROR_UNKNOWN";
  return CUPTI_SUCCESS;
}
CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc, void*) {
  const CUptiResult result = answer("cuptiSubscribe");
  if (result == CUPTI_SUCCESS && subscribed.exchange(true))
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  *handle = reinterpret_cast<CUpti_SubscriberHandle>(&subscribed);
  return result;
}
CUptiResult unsubscribe(CUpti_SubscriberHandle) {
  return subscribed.exchange(false) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult register_clock(CUpti_TimestampCallbackFunc function) {
  const std::lock_guard lock(mutex);
  host_clock = function;
  return answer("cuptiActivityRegisterTimestampCallback");
}
CUptiResult register_buffers(CUpti_BuffersCallbackRequestFunc ask, CUpti_BuffersCallbackCompleteFunc give) {
  const std::lock_guard lock(mutex);
  request = ask;
  completed = give;
  return answer("cuptiActivityRegisterCallbacks");
}
CUptiResult enable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(mutex);
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && answer("cuptiActivityEnable") != CUPTI_SUCCESS)
    return answers.result;
  kinds.insert(kind);
  listener.store(&kListener);
  listening.store(1);
  return CUPTI_SUCCESS;
}
CUptiResult disable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(mutex);
  kinds.erase(kind);
  if (kinds.empty()) {
    listener.store(nullptr);
    listening.store(0);
  }
  return CUPTI_SUCCESS;
}
CUptiResult flush(uint32_t) {
  const std::lock_guard lock(mutex);
  give_back(works);
  give_back(calls);
  return CUPTI_SUCCESS;
}
CUptiResult next_record(uint8_t* buffer, size_t bytes, CUpti_Activity** record) {
  const auto at =
      *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + size_of((*record)->kind);
  if (at >= buffer + bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}
CUptiResult dropped_records(CUcontext, uint32_t, size_t* count) {
  *count = dropped.exchange(0);
  return CUPTI_SUCCESS;
}
CUptiResult push_id(CUpti_ExternalCorrelationKind, uint64_t id) {
  ids.push_back(id);
  return CUPTI_SUCCESS;
}
CUptiResult pop_id(CUpti_ExternalCorrelationKind, uint64_t* id) {
  if (ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  *id = ids.back();
  ids.pop_back();
  return CUPTI_SUCCESS;
}

}  // namespace
}  // namespace loomix::standin

namespace loomix::engine {

const ActivityLibrary* activity_library() {
  namespace fake = loomix::standin;
  ++fake::opened;
  static const ActivityLibrary all{
      fake::get_version,      fake::result_string, fake::subscribe, fake::unsubscribe, fake::register_clock,
      fake::register_buffers, fake::enable,        fake::disable,   fake::flush,       fake::next_record,
      fake::dropped_records,  fake::push_id,       fake::pop_id};
  return fake::answers.is_there ? &all : nullptr;
}

}  // namespace loomix::engine

extern "C" {

// Before the first profile: CUPTI is there, with this version (0: that of the header). It refuses that call ("" for none) with that result;
// its buffers have room for so many bytes, and it takes so many (0: as many as it likes); works end that much later.
void loomix_standin_cupti(unsigned version, const char* refused, int result, long room, long most_buffers,
                          long longer_ns) {
  auto& answers = loomix::standin::answers;
  answers.is_there = true;
  if (version != 0) answers.version = version;
  answers.refused = refused;
  answers.result = static_cast<CUptiResult>(result);
  if (room > 0) answers.room = static_cast<size_t>(room);
  if (most_buffers > 0) answers.most_buffers = static_cast<size_t>(most_buffers);
  answers.longer_ns = static_cast<uint64_t>(longer_ns);
}

// How often it was opened, how many buffers it took, whether it listens now, whether somebody subscribes.
void loomix_standin_cupti_counts(long* out) {
  for (const auto* count : {&loomix::standin::opened, &loomix::standin::buffers, &loomix::standin::listening})
    *out++ = count->load();
  *out = loomix::standin::subscribed.load() ? 1 : 0;
}
}
