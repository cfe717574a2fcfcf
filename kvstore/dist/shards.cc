// SPDX-License-Identifier: Apache-2.0
#include "kvstore/dist/shards.h"

#include <algorithm>

namespace loomix::kvstore {

std::vector<Shard> shards_of(const std::string& wire_key, int64_t count, int64_t item_bytes, int groups) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a: the same on every machine
  for (const char c : wire_key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  hash ^= hash >> 32;
  const auto first = static_cast<int32_t>(hash % static_cast<uint64_t>(groups));
  if (groups == 1 || count * item_bytes <= kSmallBytes) return {{first, 0, count}};
  const int64_t line = std::max<int64_t>(1, 64 / item_bytes);
  const int64_t lines = (count + line - 1) / line;
  std::vector<Shard> shards;
  for (int32_t i = 0; i < groups; ++i) {
    const int64_t begin = std::min(count, lines * i / groups * line);
    const int64_t end = std::min(count, lines * (i + 1) / groups * line);
    if (begin < end) shards.push_back({(first + i) % groups, begin, end});
  }
  return shards;
}

}  // namespace loomix::kvstore
