// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/simplify.h"

#include <algorithm>
#include <unordered_map>

#include "symbol/passes/prune.h"

namespace loomix {
namespace {

size_t hash_of(const Graph& graph, NodeId id) {
  size_t hash = reinterpret_cast<size_t>(graph[id].op) ^ graph[id].attrs->hash();
  for (const ValueRef& input : graph.inputs(id)) {
    hash = hash * 1000003 + static_cast<size_t>(input.node) * 31 + static_cast<size_t>(input.index);
  }
  return hash;
}

bool same_group(const Node& a, const Node& b) {
  const std::string* first = a.info ? a.info->find("__ctx_group__") : nullptr;
  const std::string* second = b.info ? b.info->find("__ctx_group__") : nullptr;
  return first && second ? *first == *second : first == second;
}

bool same(const Graph& graph, NodeId a, NodeId b) {
  const Node& first = graph[a];
  const Node& second = graph[b];
  return first.op == second.op && *first.attrs == *second.attrs && same_group(first, second) &&
         std::ranges::equal(graph.inputs(a), graph.inputs(b));
}

}  // namespace

Graph simplify(const Graph& graph) {
  const auto changed = mutated_variables(graph);
  Graph result = graph;
  std::vector<NodeId> merged(graph.size());
  std::vector<char> is_output(graph.size(), false);
  for (const ValueRef& output : graph.outputs) is_output[output.node] = true;
  std::unordered_multimap<size_t, NodeId> known;
  for (NodeId id = 0; id < graph.size(); ++id) {
    merged[id] = id;
    const auto inputs = result.inputs(id);
    for (ValueRef& input : inputs) input.node = merged[input.node];
    const Node& node = result[id];
    if (!node.op || node.op->random_numbers || inputs.empty()) continue;
    if (std::ranges::any_of(inputs, [&](ValueRef v) { return changed[v.node]; })) continue;
    const size_t hash = hash_of(result, id);
    auto [at, end] = known.equal_range(hash);
    while (at != end && !same(result, id, at->second)) ++at;
    if (at == end) {
      known.emplace(hash, id);
    } else if (!is_output[id]) {
      merged[id] = at->second;
    }
  }
  return prune(result);
}

}  // namespace loomix
