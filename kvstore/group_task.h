// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "comm/process_group.h"
#include "kvstore/key.h"
#include "ndarray/ndarray.h"

// What the stores without servers do with a group of hosts: one call at a time, in the order of pushes.
namespace loomix::kvstore {

std::byte* data_of(const NDArray& array);

// Pushes work that may block, on the lane of communication; the tags name the group's channel as used.
void push_group_task(engine::Engine& engine, const ArrayTags& tags, const char* (*name)(const void*),
                     int priority, engine::Work work);

// A host array for the first value of a key; throws TypeError where `value` is not dense.
NDArray place_for_first(const Key& key, const NDArray& value, int rank, std::string_view type);

// Pushes: all ranks' arrays become rank 0's. `group` may be null: then there is one rank.
void broadcast_first(const std::shared_ptr<comm::ProcessGroup>& group, const engine::VarRef& channel,
                     const NDArray& array);

}  // namespace loomix::kvstore
