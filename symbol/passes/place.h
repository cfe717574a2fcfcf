// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/table.h"
#include "symbol/graph.h"

namespace loomix {

struct Placement {
  Graph graph;                  // with a _copy wherever a value crosses devices
  std::vector<Device> devices;  // one a node
};

// A node runs where its `__ctx_group__` says, else on `device`; a gradient node where its forward node does. Variables
// lie where the group that they name says.
Placement place(const Graph& graph, const ops::OpTable& table, Device device,
                const std::map<std::string, Device>& groups);

}  // namespace loomix
