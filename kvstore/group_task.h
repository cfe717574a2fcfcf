// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "comm/process_group.h"
#include "kvstore/key.h"
#include "ndarray/ndarray.h"

// What the stores without servers do with a group of hosts: one call at a time, in the order of pushes.
namespace loomix::kvstore {

std::byte* data_of(const NDArray& array);

// On the lane of communication.
engine::TaskInfo group_task(const char* (*name)(const void*), int priority);
// Pushes a call of a group, which ends when the call has; no thread waits. The tags name the group's channel as used; the arrays are
// kept until the group is done with their memory.
void push_group_call(engine::Engine& engine, const ArrayTags& tags, engine::TaskInfo info,
                     std::vector<NDArray> arrays,
                     engine::InlineFunction<void(comm::ProcessGroup::Done), 64> call);

// A host array for the first value of a key; throws TypeError where `value` is not dense.
NDArray place_for_first(const Key& key, const NDArray& value, int rank, std::string_view type);

// Pushes: all ranks' arrays become rank 0's. `group` may be null: then there is one rank.
void broadcast_first(const std::shared_ptr<comm::ProcessGroup>& group, const engine::VarRef& channel,
                     const NDArray& array);

}  // namespace loomix::kvstore
