// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "kvstore/key.h"
#include "ndarray/ndarray.h"
#include "symbol/executor/runtime.h"

namespace loomix::kvstore {

// Who asked for a piece of the store's work, for traces and errors, and how urgent it is.
struct Request {
  Request(const Runtime& runtime, const char* call_name, const Key& key, int priority);
  const char* name;  // "kvstore_push"
  std::string key;
  int8_t priority;
  const OriginHook* hook;
  Origin origin;
};

// One piece of the store's work on arrays, run by the engine on the lane of communication, so that it overlaps
// computation. Derived classes hold the arrays.
class StoreTask : public RefCounted {
 public:
  virtual void run(engine::RunContext& context) const = 0;
  std::string describe() const;
  const char* name() const noexcept { return request_.name; }

 protected:
  explicit StoreTask(const Request& request) : request_(request) {}

 private:
  friend void push_task(Ref<StoreTask> task, const ArrayTags& tags, const NDArray& place, int64_t bytes,
                        uint8_t max_cores);
  const Request request_;
};

// Pushes the task to the device of `place`; it moves `bytes`.
void push_task(Ref<StoreTask> task, const ArrayTags& tags, const NDArray& place, int64_t bytes,
               uint8_t max_cores);

}  // namespace loomix::kvstore
