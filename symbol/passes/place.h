// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/table.h"
#include "symbol/graph.h"

namespace loomix {

// Where things are to be. Without groups all nodes run on `device`, wherever their variables lie.
struct PlaceRequest {
  struct Output {
    Device device;
    bool adds = false;  // to what is there, so its last node must be an operator on that device
  };
  Device device;                         // where nothing else is said
  std::map<std::string, Device> groups;  // device of each `__ctx_group__`
  std::vector<std::pair<NodeId, Device>> variables =
      {};                            // where arrays lie; the others go where their group says
  std::vector<Output> outputs = {};  // one an output of the graph; empty: wherever they are computed
};

struct Placement {
  Graph graph;                  // with a transfer wherever a value goes to another device
  std::vector<Device> devices;  // one a node
};

// The device of each node. A node runs where its group says; without a group, where its first input lies; without
// inputs, where its first user runs. A gradient node runs where its forward node does. Throws DeviceError that names
// node and group where the group has no device.
std::vector<Device> assign_devices(const Graph& graph, const PlaceRequest& request);

// Throws DeviceError where an operator changes a variable that lies on another device.
Placement place(const Graph& graph, const ops::OpTable& table, const PlaceRequest& request);

// Whether the node moves a value between devices: it is a copy in the engine, not a call of a kernel.
bool is_transfer(const Graph& graph, std::span<const Device> devices, NodeId id);

}  // namespace loomix
