// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "symbol/graph.h"

namespace loomix {

// How many inputs of nodes, and outputs of the graph, each value is; by its number in `index`.
std::vector<int> count_readers(const Graph& graph, const ValueIndex& index);

}  // namespace loomix
