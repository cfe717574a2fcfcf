// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/activity_library.h"

#include <dlfcn.h>

#include <initializer_list>

namespace loomix::engine {
namespace {

template <class Function>
bool take(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(dlsym(library, name));
  return to != nullptr;
}

// Where NVIDIA's packages or the system's loader have it, or where a toolkit puts it, which the loader mostly does not know.
void* open_library() {
  for (const char* const name : {"libcupti.so.13", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"}) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

const ActivityLibrary* open_all() {
  void* const library = open_library();
  if (library == nullptr) return nullptr;
  static ActivityLibrary calls;
  const bool is_whole = take(library, "cuptiGetVersion", calls.get_version) &&
                        take(library, "cuptiGetResultString", calls.result_string) &&
                        take(library, "cuptiSubscribe", calls.subscribe) &&
                        take(library, "cuptiUnsubscribe", calls.unsubscribe) &&
                        take(library, "cuptiActivityRegisterTimestampCallback", calls.register_clock) &&
                        take(library, "cuptiActivityRegisterCallbacks", calls.register_buffers) &&
                        take(library, "cuptiActivityEnable", calls.enable) &&
                        take(library, "cuptiActivityDisable", calls.disable) &&
                        take(library, "cuptiActivityFlushAll", calls.flush) &&
                        take(library, "cuptiActivityGetNextRecord", calls.next_record) &&
                        take(library, "cuptiActivityGetNumDroppedRecords", calls.dropped_records) &&
                        take(library, "cuptiActivityPushExternalCorrelationId", calls.push_id) &&
                        take(library, "cuptiActivityPopExternalCorrelationId", calls.pop_id);
  return is_whole ? &calls : nullptr;
}

}  // namespace

const ActivityLibrary* activity_library() {
  static const ActivityLibrary* const library = open_all();
  return library;
}

}  // namespace loomix::engine
