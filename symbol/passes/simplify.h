// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/graph.h"

namespace loomix {

// Nodes that compute the same from the same are merged into the first of them. Not those that draw random numbers or
// touch a variable that some operator changes; and outputs of the graph stay what they are, each with a node of its own
// if it had one. Prunes what is left over.
Graph simplify(const Graph& graph);

}  // namespace loomix
