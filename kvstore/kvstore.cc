// SPDX-License-Identifier: Apache-2.0
#include "kvstore/kvstore.h"

#include <algorithm>

#include <fmt/core.h>

namespace loomix::kvstore {

std::string to_text(const Key& key) {
  const int64_t* const number = std::get_if<int64_t>(&key);
  return number ? fmt::format("{}", *number) : fmt::format("'{}'", std::get<std::string>(key));
}

int8_t engine_priority(int priority) {
  constexpr int kExact = 64;
  constexpr int kShared = 8;
  const int distance = priority < 0 ? -(priority + 1) : priority;  // -1 is as near as 0: no overflow
  const int kept = distance < kExact ? distance : std::min(kExact + (distance - kExact) / kShared, 127);
  return static_cast<int8_t>(priority < 0 ? -kept - 1 : kept);
}

}  // namespace loomix::kvstore
