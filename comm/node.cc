// SPDX-License-Identifier: Apache-2.0
#include "comm/node.h"

#include <random>

#include <fmt/format.h>

namespace loomix::comm {

const char* name_of(Role role) {
  switch (role) {
    case Role::scheduler: return "scheduler";
    case Role::server: return "server";
    case Role::worker: return "worker";
  }
  return "unknown role";
}

std::string NodeName::to_string() const {
  return rank < 0 ? fmt::format("{} without rank", name_of(role)) : fmt::format("{} {}", name_of(role), rank);
}

uint64_t new_incarnation() {
  std::random_device dice;
  uint64_t fresh = 0;
  while (fresh == 0) fresh = uint64_t{dice()} << 32 | dice();
  return fresh;
}

}  // namespace loomix::comm
