// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/graph.h"

namespace loomix {

// Drops the nodes that no output of the graph needs; the others keep their order.
Graph prune(const Graph& graph);

}  // namespace loomix
