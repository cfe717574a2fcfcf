// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/shards.h"

#include <algorithm>

namespace loomix::kvstore {

Shard whole_shard_of(const std::string& wire_key, int64_t count, int groups) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a: the same on every machine
  for (const char c : wire_key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  hash ^= hash >> 32;
  return {static_cast<int32_t>(hash % static_cast<uint64_t>(groups)), 0, count};
}

std::vector<Shard> shards_of(const std::string& wire_key, int64_t count, int64_t item_bytes, int groups) {
  const Shard whole = whole_shard_of(wire_key, count, groups);
  const int32_t first = whole.group;
  const int64_t bytes = count * item_bytes;
  if (bytes <= kSmallBytes) return {whole};
  const int64_t slices = std::clamp<int64_t>(bytes / groups / kSliceBytes, 1, kMostSlices);
  const int64_t line = std::max<int64_t>(1, 64 / item_bytes);
  const int64_t lines = (count + line - 1) / line;
  const int64_t parts = groups * slices;
  std::vector<Shard> shards;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = std::min(count, lines * i / parts * line);
    const int64_t end = std::min(count, lines * (i + 1) / parts * line);
    if (begin < end) shards.push_back({static_cast<int32_t>((first + i / slices) % groups), begin, end});
  }
  return shards;
}

}  // namespace loomix::kvstore
