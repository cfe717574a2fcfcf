// SPDX-License-Identifier: Apache-2.0
#include "comm/node.h"

#include <algorithm>
#include <atomic>
#include <chrono>
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
  // Microseconds and 12 random bits.
  static std::atomic<uint64_t> last{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto us = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  const uint64_t fresh = us << 12 | (std::random_device()() & 0xfff);
  uint64_t before = last.load();
  while (!last.compare_exchange_weak(before, std::max(fresh, before + 1))) {}
  return std::max(fresh, before + 1);
}

}  // namespace loomix::comm
