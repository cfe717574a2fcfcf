// SPDX-License-Identifier: Apache-2.0
#include "kvstore/group_task.h"

#include "base/error.h"
#include "kvstore/kvstore.h"

namespace loomix::kvstore {

std::byte* data_of(const NDArray& array) {
  return static_cast<std::byte*>(array.storage().data()) + array.offset();
}

engine::TaskInfo group_task(const char* (*name)(const void*), int priority) {
  engine::TaskInfo info;
  info.lane = engine::Lane::communicate;
  info.priority = engine_priority(priority);
  info.may_inline = false;
  info.describe.name = name;
  return info;
}

void push_group_call(engine::Engine& engine, const ArrayTags& tags, engine::TaskInfo info,
                     std::vector<NDArray> arrays,
                     engine::InlineFunction<void(comm::ProcessGroup::Done), 64> call) {
  engine.push_async(
      std::move(info), tags.tags(),
      [call = std::move(call), arrays = std::move(arrays)](engine::RunContext&,
                                                           engine::Completion ending) mutable {
        call([arrays = std::move(arrays), ending = std::move(ending)](std::exception_ptr error) mutable {
          error ? ending.fail(std::move(error)) : ending.done();
        });
      });
}

NDArray place_for_first(const Key& key, const NDArray& value, int rank, std::string_view type) {
  LOOMIX_CHECK(
      !value.is_none() && value.is_dense(), TypeError,
      "[KVStore] the first value of key {} at worker {} is {}; stores of type '{}' hold default arrays.",
      to_text(key), rank, value.is_none() ? "empty (none)" : name_of(value.stype()), type);
  return NDArray(value.engine(), value.shape(), value.dtype(), Device::cpu());
}

void broadcast_first(const std::shared_ptr<comm::ProcessGroup>& group, const engine::VarRef& channel,
                     const NDArray& array) {
  if (!group) return;
  ArrayTags tags;
  tags.update(array);
  tags.use(*channel);
  push_group_call(array.engine(), tags, group_task([](const void*) { return "kvstore_broadcast"; }, 0),
                  {array},
                  [group, data = data_of(array), bytes = static_cast<size_t>(array.bytes())](
                      comm::ProcessGroup::Done done) { group->broadcast(data, bytes, 0, std::move(done)); });
}

}  // namespace loomix::kvstore
