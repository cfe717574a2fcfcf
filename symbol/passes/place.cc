// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/place.h"

#include <utility>

namespace loomix {

Placement place(const Graph& graph, const ops::OpTable& table, Device device,
                const std::map<std::string, Device>& groups) {
  Placement result;
  std::vector<Device> wanted(graph.size(), device);
  if (groups.empty()) return {graph, std::move(wanted)};
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.forward >= 0) wanted[id] = wanted[node.forward];
    const std::string* group = node.info ? node.info->find("__ctx_group__") : nullptr;
    const auto found = group ? groups.find(*group) : groups.end();
    if (found != groups.end()) wanted[id] = found->second;
  }
  const ops::OpDef& copy = *table.core().copy;
  const auto no_attrs = table.parse(copy, {});
  std::vector<NodeId> new_id(graph.size());
  std::map<std::pair<std::pair<NodeId, int>, Device>, NodeId> copies;
  std::vector<ValueRef> inputs;
  for (NodeId id = 0; id < graph.size(); ++id) {
    inputs.clear();
    for (const ValueRef& input : graph.inputs(id)) {
      const ValueRef moved{new_id[input.node], input.index};
      const int position = static_cast<int>(inputs.size());
      if (wanted[input.node] == wanted[id] || mutates_input(graph, id, position)) {
        inputs.push_back(moved);
        continue;
      }
      auto [at, fresh] = copies.try_emplace({{input.node, input.index}, wanted[id]}, -1);
      if (fresh) {
        const NodeId forward = graph[id].forward >= 0 ? new_id[graph[id].forward] : -1;
        at->second = result.graph.add_op(copy, no_attrs, {&moved, 1}, {}, forward);
        result.devices.push_back(wanted[id]);
      }
      inputs.push_back({at->second, 0});
    }
    new_id[id] = result.graph.add_copy(graph[id], inputs);
    if (graph[id].forward >= 0) result.graph[new_id[id]].forward = new_id[graph[id].forward];
    result.devices.push_back(wanted[id]);
  }
  for (const ValueRef& output : graph.outputs)
    result.graph.outputs.push_back({new_id[output.node], output.index});
  return result;
}

}  // namespace loomix
