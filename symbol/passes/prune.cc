// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/prune.h"

namespace loomix {

Graph prune(const Graph& graph) {
  std::vector<char> needed(graph.size(), false);
  for (const ValueRef& output : graph.outputs) needed[output.node] = true;
  for (NodeId id = graph.size() - 1; id >= 0; --id) {
    if (!needed[id]) continue;
    for (const ValueRef& input : graph.inputs(id)) needed[input.node] = true;
  }
  Graph pruned;
  pruned.reserve(graph.size());
  std::vector<NodeId> new_id(graph.size(), -1);
  NodeId last_forward = -1;  // stands in for a forward node that is gone
  std::vector<ValueRef> inputs;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!needed[id]) continue;
    inputs.assign(graph.inputs(id).begin(), graph.inputs(id).end());
    for (ValueRef& input : inputs) input.node = new_id[input.node];
    new_id[id] = pruned.add_copy(graph[id], inputs);
    NodeId& forward = pruned[new_id[id]].forward;
    if (forward < 0) {
      last_forward = new_id[id];
    } else {
      forward = new_id[forward] >= 0 ? new_id[forward] : last_forward;
    }
  }
  for (const ValueRef& output : graph.outputs) pruned.outputs.push_back({new_id[output.node], output.index});
  return pruned;
}

}  // namespace loomix
