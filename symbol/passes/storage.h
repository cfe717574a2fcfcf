// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "symbol/passes/place.h"

namespace loomix {

struct StorageRequest {
  std::vector<StorageType> variables;  // one a node; of others it does not count
  std::vector<StorageType> outputs;    // one a graph output; undefined: as the kernels give it
  // Says how the outputs of a node are stored. `stypes` are those of its inputs, then of its outputs, where what is wanted is
  // filled in and all else undefined. False if no kernel takes the inputs.
  std::function<bool(NodeId, std::span<StorageType> stypes)> rule;
};

struct Stored {
  Graph graph;
  std::vector<Device> devices;      // one a node
  std::vector<StorageType> stypes;  // one a value
};

// Decides how each value is stored. Where no kernel takes the storage types of a node's inputs, nodes are added that make
// the inputs dense; where an output is stored otherwise than wanted, one that converts it.
Stored assign_storage(const Placement& placed, const ops::OpTable& table, const StorageRequest& request);

}  // namespace loomix
