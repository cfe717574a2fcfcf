// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace loomix::comm {

enum class Role : uint8_t { scheduler, server, worker };
const char* name_of(Role role);

// What a node is called. Ranks count from 0 within a role; a negative one is provisional, until a rank is given.
struct NodeName {
  Role role = Role::worker;
  int32_t rank = -1;
  auto operator<=>(const NodeName&) const = default;
  std::string to_string() const;  // "server 1"
};

// One life of a node: a restarted process has the same name and another incarnation. The numbers say nothing about which came
// first; Endpoint::expect() does.
struct NodeId {
  NodeName name;
  uint64_t incarnation = 0;
  bool operator==(const NodeId&) const = default;
};

// A random number, not 0.
uint64_t new_incarnation();

}  // namespace loomix::comm
