// SPDX-License-Identifier: Apache-2.0
#include "kvstore/store_task.h"

#include <utility>

#include <fmt/core.h>

#include "kvstore/kvstore.h"
#include "ndarray/copy.h"

namespace loomix::kvstore {

engine::Var& StreamOrder::of(Device device) {
  const std::lock_guard lock(mutex_);
  engine::VarRef& var = vars_[device];
  if (!var) var = engine_.new_var();
  return *var;
}

Request::Request(const Runtime& runtime, const char* call_name, const Key& key, int wanted_priority)
    : name(call_name),
      key(to_text(key)),
      priority(engine_priority(wanted_priority)),
      hook(&runtime.origin),
      origin(runtime.origin.capture ? runtime.origin.capture() : Origin{}) {}

std::string StoreTask::describe() const {
  std::string text = fmt::format("in {} of key {}", request_.name, request_.key);
  if (request_.origin.code && request_.hook->text)
    text += fmt::format(", pushed at {}", request_.hook->text(request_.origin));
  return text;
}

void push_task(Ref<StoreTask> task, const ArrayTags& tags, const NDArray& place, int64_t bytes,
               uint8_t max_cores) {
  engine::TaskInfo info;
  info.device = place.device();
  info.lane = engine::Lane::communicate;
  info.priority = task->request_.priority;
  info.cost_ns = move_cost_ns(bytes);
  info.max_cores = max_cores;
  info.describe = {
      [](const void* context) {
        return static_cast<const StoreTask*>(static_cast<const RefCounted*>(context))->describe();
      },
      [](const void* context) {
        return static_cast<const StoreTask*>(static_cast<const RefCounted*>(context))->name();
      },
      task};
  place.engine().push(std::move(info), tags.tags(),
                      [task = std::move(task)](engine::RunContext& context) { task->run(context); });
}

}  // namespace loomix::kvstore
