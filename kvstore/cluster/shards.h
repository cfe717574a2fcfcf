// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace loomix::kvstore {

// Where a stretch of a key's elements lives.
struct Shard {
  int32_t group = 0;
  int64_t begin = 0;  // elements
  int64_t end = 0;
};

// Small arrays are one shard, whose group is a hash of the key; larger ones are cut into a share for each group, of
// whole cache lines, and a share into shards of about kSliceBytes: while one of them is pulled, the next is on its way along the
// chain, and another comes from the worker. All nodes of a cluster come to the same result.
//
//   large   |  group h: slice, slice ...  |  group h+1: ...  | ... |        h = hash(key) mod groups
//   small   | group h |
std::vector<Shard> shards_of(const std::string& wire_key, int64_t count, int64_t item_bytes, int groups);
// A key that must not be cut, however large it is.
Shard whole_shard_of(const std::string& wire_key, int64_t count, int groups);

inline constexpr int64_t kSmallBytes = 256 << 10;
inline constexpr int64_t kSliceBytes = 2 << 20;
inline constexpr int64_t kMostSlices = 64;  // of one group; then they are larger

}  // namespace loomix::kvstore
