// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/hold.h"

#include <algorithm>

#include "symbol/passes/prune.h"

namespace loomix {

Graph hold_weights(Graph graph) {
  const auto is_variable = [&](ValueRef value) { return graph[value.node].is_variable(); };
  const auto is_output = [&](NodeId id) {
    return std::ranges::any_of(graph.outputs, [&](ValueRef output) { return output.node == id; });
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].is_variable() || !graph[id].op->with_bias) continue;
    for (const ValueRef& weight : graph.inputs(id).subspan(1)) {
      Node& from = graph[weight.node];
      if (!from.is_variable() && from.op->elementwise && from.num_values() == 1 && !is_output(weight.node) &&
          std::ranges::all_of(graph.inputs(weight.node), is_variable))
        from.held = true;
    }
  }
  return graph;
}

HeldApart take_held_apart(const Graph& graph) {
  HeldApart apart;
  apart.held = graph;
  apart.held.outputs.clear();
  apart.rest.reserve(graph.size());
  const ValueIndex index(graph);
  std::vector<ValueRef> instead(static_cast<size_t>(index.size()));  // by value, in `rest`
  std::vector<ValueRef> inputs;
  const auto in_rest = [&](ValueRef value) {
    ValueRef& known = instead[static_cast<size_t>(index[value])];
    if (known) return known;
    auto info = make_ref<NodeInfo>();
    info->name = "held " + graph.name_of(value.node);
    apart.held.outputs.push_back(value);
    apart.variables.push_back(info);
    known = {apart.rest.add_variable(std::move(info)), 0};
    return known;
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.held) continue;
    inputs.clear();
    for (const ValueRef& input : graph.inputs(id)) inputs.push_back(in_rest(input));
    const NodeId copy = apart.rest.add_copy(node, inputs);
    for (int i = 0; i < node.num_values(); ++i) instead[static_cast<size_t>(index(id, i))] = {copy, i};
  }
  for (const ValueRef& output : graph.outputs) apart.rest.outputs.push_back(in_rest(output));
  apart.rest = prune(apart.rest);
  apart.held = prune(apart.held);
  return apart;
}

}  // namespace loomix
