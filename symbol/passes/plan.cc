// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/plan.h"

#include <algorithm>

#include "base/error.h"

namespace loomix {
namespace {

// Marks the nodes whose one output is their input under another shape.
void find_views(const Graph& graph, const ValueIndex& index, const Inference& known,
                std::span<const Device> devices, std::span<const char> pinned, GraphPlan& plan) {
  const auto mutated = mutated_variables(graph);
  std::vector<char> changes(index.size(), false);  // later content must not show through a view
  for (NodeId id = 0; id < graph.size(); ++id) changes[index(id, 0)] = mutated[id];
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!node.op || node.op->identity.empty() || node.num_values() != 1 || pinned[index(id, 0)]) continue;
    const auto inputs = graph.inputs(id);
    const int wanted = node.op->identity[0].first;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (node.op->schema_position(*node.attrs, static_cast<int>(i)) != wanted) continue;
      const int input = index[inputs[i]], output = index(id, 0);
      if (known.dtypes[input] != known.dtypes[output] ||
          known.shapes[input].size() != known.shapes[output].size())
        break;
      if (devices[inputs[i].node] != devices[id] || changes[plan.root[input]]) break;
      plan.root[output] = plan.root[input];
      plan.elided[id] = true;
      break;
    }
  }
}

// Of a variadic operator, a pair names one of its inputs, not all of them.
bool allows_inplace(const Node& node, int input, int output) {
  const bool variadic = !node.op->variadic_count.empty();
  const std::pair<int, int> pair{variadic ? input : node.op->schema_position(*node.attrs, input), output};
  return std::find(node.op->inplace.begin(), node.op->inplace.end(), pair) != node.op->inplace.end();
}

// In-place candidates of one node: the input goes nowhere else within the node but to inputs that may be overwritten.
void find_pairs(const Graph& graph, const ValueIndex& index, NodeId id, const GraphPlan& plan,
                std::vector<memplan::InplacePair>& pairs) {
  const Node& node = graph[id];
  const auto inputs = graph.inputs(id);
  for (int output = 0; output < node.num_outputs; ++output) {
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      if (!allows_inplace(node, i, output)) continue;
      const int from = plan.root[index[inputs[i]]], to = index(id, output);
      if (plan.values[from].pinned || plan.values[to].pinned ||
          plan.values[from].bytes != plan.values[to].bytes)
        continue;
      bool elsewhere = node.op->is_shape_only(*node.attrs, i);
      for (int j = 0; j < static_cast<int>(inputs.size()); ++j) {
        elsewhere =
            elsewhere || (plan.root[index[inputs[j]]] == from && !node.op->is_shape_only(*node.attrs, j) &&
                          !allows_inplace(node, j, output));
      }
      if (!elsewhere) pairs.push_back({from, to});
    }
  }
}

}  // namespace

GraphPlan plan_memory(const Graph& graph, const Inference& known, std::span<const Device> devices,
                      std::span<const char> pinned, std::span<const int64_t> scratch_bytes,
                      const memplan::Options& options) {
  const ValueIndex index(graph);
  GraphPlan plan;
  plan.elided.assign(graph.size(), false);
  plan.root.resize(index.size());
  for (int value = 0; value < index.size(); ++value) plan.root[value] = value;
  if (options.inplace) find_views(graph, index, known, devices, pinned, plan);
  plan.values.resize(index.size() + graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    memplan::Value& scratch = plan.values[index.size() + id];
    scratch.device = devices[id];
    scratch.writer = graph[id].is_variable() || plan.elided[id] ? -1 : id;
    scratch.pinned = scratch.writer < 0;
    if (!scratch.pinned && !scratch_bytes.empty()) scratch.bytes = scratch_bytes[id];
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    for (int i = 0; i < node.num_values(); ++i) {
      const int value = index(id, i);
      memplan::Value& entry = plan.values[value];
      entry.device = devices[id];
      entry.pinned = node.is_variable() || pinned[value] || plan.elided[id];
      entry.writer = node.is_variable() ? -1 : id;
      if (!entry.pinned) entry.bytes = known.shapes[value].size() * size_of(known.dtypes[value]);
    }
    if (!node.op || plan.elided[id]) continue;
    const auto inputs = graph.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (node.op->is_shape_only(*node.attrs, static_cast<int>(i))) continue;
      auto& readers = plan.values[plan.root[index[inputs[i]]]].readers;
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    }
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (int i = graph[id].num_outputs; i < graph[id].num_values(); ++i) {
      memplan::Value& saved = plan.values[index(id, i)];
      if (saved.readers.empty()) saved.bytes = 0;
    }
  }
  std::vector<memplan::InplacePair> pairs;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].op && !plan.elided[id]) find_pairs(graph, index, id, plan, pairs);
  }
  plan.memory = memplan::plan(plan.values, pairs, options);
  return plan;
}

}  // namespace loomix
