// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/api/objects.h"

#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <thread>

#include "bindings/c/api/handle_table.h"
#include "bindings/c/process.h"

namespace loomix::c {
namespace {

static_assert(LOOMIX_MAX_AXES == Shape::kMaxDims);
static_assert(LOOMIX_INT64 == static_cast<int>(DType::int64) &&
              LOOMIX_BFLOAT16 == static_cast<int>(DType::bfloat16));

// Never deleted: a program may exit while other threads call.
HandleTable<Object>& objects() {
  static HandleTable<Object>& all = *std::make_unique<HandleTable<Object>>().release();
  return all;
}

// On a thread of its own: what the engine keeps for this one may be destroyed already.
void finish_work() noexcept {
  try {
    std::thread([] {
      engine::Engine& engine = runtime().engine();
      engine.drain(engine.options().exit_deadline_ms);
    }).join();
  } catch (const std::exception&) {  // no thread to be had: the program ends all the same
  }
}

// Work in flight at the program's exit would find objects destroyed that its libraries keep. Those of the first kernels are made
// after any handler that could be registered here, so they go before it would run; what belongs to the main thread goes before all
// of them. The handler is for programs whose main thread never called.
struct MainThread {
  MainThread() = default;
  MainThread(const MainThread&) = delete;
  MainThread& operator=(const MainThread&) = delete;
  ~MainThread() {
    if (gettid() == getpid()) finish_work();
  }
  void stay() const {}
};

}  // namespace

Runtime& running() {
  static Runtime& started = []() -> Runtime& {
    Runtime& made = runtime();
    std::atexit(finish_work);
    return made;
  }();
  thread_local const MainThread ends;
  ends.stay();
  return started;
}

void* add_object(std::shared_ptr<Object> object) { return objects().add(std::move(object)); }

std::shared_ptr<Object> find_object(void* handle, const char* kind) {
  LOOMIX_CHECK(handle != nullptr, ValueError, "[handle] the handle is null; expected that of {}.", kind);
  return objects().at(handle);
}

void remove_object(void* handle) { objects().remove(handle); }

void throw_wrong_kind(const Object& object, const char* kind) {
  detail::throw_error<ValueError>("[handle] the handle is that of {}; expected that of {}.", object.kind(),
                                  kind);
}

Shape to_partial_shape(const LoomixShape* shape, const char* who) {
  const int axes = not_null(shape, who, "a shape")->axes;
  if (axes == -1) return Shape::unknown();
  LOOMIX_CHECK(axes >= 0 && axes <= Shape::kMaxDims, ShapeError,
               "[{}] a shape has {} axes; expected 0 to {}, or -1 where it is unknown.", who, axes,
               Shape::kMaxDims);
  constexpr int64_t kMostElements = std::numeric_limits<int64_t>::max() / 16;
  int64_t elements = 1;
  Shape result;
  for (int i = 0; i < axes; ++i) {
    const int64_t size = shape->sizes[i];
    LOOMIX_CHECK(size >= -1, ShapeError, "[{}] axis {} of a shape has size {}; expected 0 or more.", who, i,
                 size);
    if (size > 0) {
      LOOMIX_CHECK(size <= kMostElements / elements, ShapeError, "[{}] a shape has more than {} elements.",
                   who, kMostElements);
      elements *= size;
    }
    result.push_back(size);
  }
  return result;
}

Shape to_shape(const LoomixShape* shape, const char* who) {
  Shape result = to_partial_shape(shape, who);
  LOOMIX_CHECK(result.is_known(), ShapeError, "[{}] the shape is {}; expected one that is known.", who,
               result.to_string());
  return result;
}

LoomixShape from_shape(const Shape& shape) {
  LoomixShape result{};
  result.axes = shape.ndim();
  for (int i = 0; i < shape.ndim(); ++i) result.sizes[i] = shape[i];
  return result;
}

DType to_dtype(int type, const char* who) {
  const bool fits = type >= 0 && type <= std::numeric_limits<int8_t>::max();
  LOOMIX_CHECK(fits && is_valid(static_cast<DType>(type)), TypeError,
               "[{}] the type is {}; expected 0 to 7, or 12.", who, type);
  return static_cast<DType>(type);
}

Device to_device(LoomixDevice device, const char* who) {
  const auto type = static_cast<DeviceType>(device.type);
  LOOMIX_CHECK(device.type >= 1 && device.type <= 3, DeviceError,
               "[{}] the type of the device is {}; expected 1 (CPU), 2 (GPU) or 3 (page-locked memory).", who,
               device.type);
  LOOMIX_CHECK(device.id >= 0 && device.id <= std::numeric_limits<int16_t>::max(), DeviceError,
               "[{}] the number of the device is {}; expected 0 to {}.", who, device.id,
               std::numeric_limits<int16_t>::max());
  return {type, static_cast<int16_t>(device.id)};
}

ops::Req to_request(int request, const char* who) {
  LOOMIX_CHECK(request >= LOOMIX_NULL && request <= LOOMIX_ADD, ValueError,
               "[{}] a request is {}; expected 0 (null), 1 (write), 2 (write in place) or 3 (add).", who,
               request);
  if (request == LOOMIX_NULL) return ops::Req::null;
  return request == LOOMIX_ADD ? ops::Req::add : ops::Req::write;
}

TextPairs to_pairs(const LoomixPairs* pairs, const char* who) {
  TextPairs result;
  if (!pairs) return result;
  const auto names = to_names(pairs->count, pairs->names, who);
  const auto values = to_names(pairs->count, pairs->values, who);
  for (size_t i = 0; i < names.size(); ++i) result.emplace_back(names[i], values[i]);
  return result;
}

std::vector<std::string> to_names(size_t count, const char* const* names, const char* who) {
  std::vector<std::string> result;
  if (count > 0) not_null(names, who, "a list of names");
  for (size_t i = 0; i < count; ++i) result.emplace_back(not_null(names[i], who, "a name or value"));
  return result;
}

std::vector<NDArray> to_arrays(size_t count, const LoomixArray* handles, const char* who) {
  std::vector<NDArray> result;
  if (count > 0) not_null(handles, who, "a list of arrays");
  for (size_t i = 0; i < count; ++i) result.push_back(find<ArrayObject>(handles[i])->array);
  return result;
}

std::vector<NDArray> to_arrays_or_none(size_t count, const LoomixArray* handles, const char* who) {
  std::vector<NDArray> result;
  if (count > 0) not_null(handles, who, "a list of arrays");
  for (size_t i = 0; i < count; ++i)
    result.push_back(handles[i] ? find<ArrayObject>(handles[i])->array : NDArray());
  return result;
}

const char* const* TextList::set(std::vector<std::string> items) {
  texts = std::move(items);
  pointers.clear();
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers.data();
}

Answer& answer() {
  thread_local Answer mine;
  return mine;
}

const LoomixArray* answer_arrays(std::span<const NDArray> arrays) {
  std::vector<LoomixArray>& handles = answer().arrays;
  handles.clear();
  for (const NDArray& array : arrays) handles.push_back(array.is_none() ? nullptr : add_array(array));
  return handles.data();
}

}  // namespace loomix::c
