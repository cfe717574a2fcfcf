// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"
#include "symbol/graph.h"

namespace loomix {

// None: the node is not of whole numbers.
inline std::optional<ops::WholeRole> whole_role(const Node& node) {
  if (!node.op || !node.op->whole_role) return {};
  return node.op->whole_role(*node.attrs);
}

// Whether there is an operator of 8 bits.
inline bool has_whole_layers(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id)
    if (graph[id].op && graph[id].op->whole_role) return true;
  return false;
}

inline constexpr const char* kUnknownRange = "its data is not of 8 bits whose range is known";
inline constexpr const char* kComputedWeight = "its weight is computed in each run";

// The node whose output 0, of whole numbers, input `i` is; -1 unless its ranges follow as inputs, too.
inline NodeId whole_source(const Graph& graph, NodeId id, int i, const ops::WholeRole& role) {
  const auto inputs = graph.inputs(id);
  const NodeId from = inputs[static_cast<size_t>(i)].node;
  const auto low = static_cast<size_t>(role.arrays + 2 * i);
  const bool follow = inputs[static_cast<size_t>(i)].index == 0 && inputs[low] == ValueRef{from, 1} &&
                      inputs[low + 1] == ValueRef{from, 2};
  return follow ? from : -1;
}

// Whether all inputs of a product, but for its data and their range, are known before each run.
inline bool has_held_parameters(const Graph& graph, NodeId id, const ops::WholeRole& role) {
  const auto inputs = graph.inputs(id);
  for (size_t i = 1; i < inputs.size(); ++i) {
    const Node& from = graph[inputs[i].node];
    const bool is_range = i == static_cast<size_t>(role.arrays) || i == static_cast<size_t>(role.arrays) + 1;
    if (!is_range && !from.is_variable() && !from.held) return false;
  }
  return true;
}

}  // namespace loomix
