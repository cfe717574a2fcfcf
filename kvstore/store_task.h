// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "kvstore/key.h"
#include "ndarray/ndarray.h"
#include "symbol/executor/runtime.h"

namespace loomix::kvstore {

// What a store puts on a GPU's stream of communication, in the order of the pushes: all work there waits where one has to, so
// what can be issued early must not come before what is ready early. Thread-safe.
class StreamOrder {
 public:
  explicit StreamOrder(engine::Engine& engine) : engine_(engine) {}
  engine::Var& of(Device device);  // used by each task

 private:
  engine::Engine& engine_;
  std::mutex mutex_;  // guards the map
  std::map<Device, engine::VarRef> vars_;
};

// Who asked for a piece of the store's work, for traces and errors, and how urgent it is.
struct Request {
  Request(const Runtime& runtime, const char* call_name, const Key& key, int priority);
  const char* name;  // "kvstore_push"
  std::string key;
  int8_t priority;
  const OriginHook* hook;
  Origin origin;
  StreamOrder* order = nullptr;  // of operators on GPUs
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
