// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ops/table.h"
#include "symbol/graph.h"

namespace loomix {

struct GradientRequest {
  std::span<const ValueRef> heads;  // what is differentiated
  std::span<const ValueRef>
      head_grads;                 // one a head, values of the graph; empty ValueRef: nothing flows into it
  std::span<const ValueRef> wrt;  // what the gradients are for: variables as a rule
};

struct GradientResult {
  Graph graph;                  // the given nodes unchanged, gradient nodes behind them
  std::vector<ValueRef> grads;  // one a `wrt`; empty where the gradient is zero everywhere
};

// Adds the nodes that compute the gradients. Nodes are visited backwards in the graph's order, and where several
// gradients meet they are added in that order, so results do not depend on anything else. Throws NotImplementedError
// naming operator and node where a gradient is needed through an operator that has none.
GradientResult gradient(Graph graph, const ops::OpTable& table, const GradientRequest& request);

}  // namespace loomix
