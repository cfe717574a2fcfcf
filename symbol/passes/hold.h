// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "symbol/graph.h"

namespace loomix {

// A graph without its held nodes. What others read of these is a variable in `rest`; `held` computes it, output i for
// variable i.
struct HeldApart {
  Graph rest;
  Graph held;
  std::vector<Ref<const NodeInfo>> variables;
};
HeldApart take_held_apart(const Graph& graph);

// Holds what one elementwise operator, such as a cast, makes of variables alone for the weight and the bias of a layer
// (`OpDef::with_bias`). Not for the graph's outputs, which no held node may make.
Graph hold_weights(Graph graph);

}  // namespace loomix
