// SPDX-License-Identifier: Apache-2.0
#include "kvstore/group_task.h"

#include "base/error.h"
#include "kvstore/kvstore.h"

namespace loomix::kvstore {

std::byte* data_of(const NDArray& array) {
  return static_cast<std::byte*>(array.storage().data()) + array.offset();
}

void push_group_task(engine::Engine& engine, const ArrayTags& tags, const char* (*name)(const void*),
                     int priority, engine::Work work) {
  engine::TaskInfo info;
  info.lane = engine::Lane::communicate;
  info.priority = engine_priority(priority);
  info.may_inline = false;
  info.describe.name = name;
  engine.push(std::move(info), tags.tags(), std::move(work));
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
  push_group_task(
      array.engine(), tags, [](const void*) { return "kvstore_broadcast"; }, 0,
      [group, array](engine::RunContext&) {
        group->broadcast(data_of(array), static_cast<size_t>(array.bytes()), 0);
      });
}

}  // namespace loomix::kvstore
