// SPDX-License-Identifier: Apache-2.0
#include "symbol/graph.h"

#include <algorithm>

#include "base/error.h"

namespace loomix {

const std::string* NodeInfo::find(std::string_view key) const {
  const auto at = std::lower_bound(extra.begin(), extra.end(), key,
                                   [](const auto& pair, std::string_view k) { return pair.first < k; });
  return at != extra.end() && at->first == key ? &at->second : nullptr;
}

NodeId Graph::append(Node node, std::span<const ValueRef> inputs) {
  node.first_input = static_cast<uint32_t>(inputs_.size());
  node.num_inputs = static_cast<uint32_t>(inputs.size());
  inputs_.insert(inputs_.end(), inputs.begin(), inputs.end());
  nodes_.push_back(std::move(node));
  return size() - 1;
}

NodeId Graph::add_variable(Ref<const NodeInfo> info) {
  Node node;
  node.info = std::move(info);
  return append(std::move(node), {});
}

NodeId Graph::add_op(const ops::OpDef& op, Ref<const AttrsBase> attrs, std::span<const ValueRef> inputs,
                     Ref<const NodeInfo> info, NodeId forward) {
  Node node;
  node.op = &op;
  node.num_outputs = static_cast<uint16_t>(op.count_outputs(*attrs));
  node.num_saved = static_cast<uint16_t>(op.saved_names.size());
  node.attrs = std::move(attrs);
  node.info = std::move(info);
  node.forward = forward;
  return append(std::move(node), inputs);
}

NodeId Graph::add_unknown(Ref<const NodeInfo> info, std::span<const ValueRef> inputs, int num_outputs) {
  LOOMIX_INTERNAL_CHECK(info && !info->unknown_op.empty());
  Node node;
  node.info = std::move(info);
  node.num_outputs = static_cast<uint16_t>(num_outputs);
  return append(std::move(node), inputs);
}

NodeId Graph::add_copy(const Node& node, std::span<const ValueRef> inputs) { return append(node, inputs); }

std::string Graph::name_of(NodeId id) const {
  const Node& node = nodes_[id];
  if (node.info && !node.info->name.empty()) return node.info->name;
  if (node.forward >= 0)
    return fmt::format("gradient of {} ({} #{})", name_of(node.forward), op_name(id), id);
  return fmt::format("{} #{}", node.is_variable() ? "variable" : op_name(id), id);
}

std::string_view Graph::op_name(NodeId id) const {
  const Node& node = nodes_[id];
  if (node.op) return node.op->name;
  return node.is_variable() ? std::string_view("null") : std::string_view(node.info->unknown_op);
}

ValueIndex::ValueIndex(const Graph& graph) {
  first_.reserve(graph.size() + 1);
  first_.push_back(0);
  for (NodeId id = 0; id < graph.size(); ++id) first_.push_back(first_.back() + graph[id].num_values());
}

bool mutates_input(const Graph& graph, NodeId node, int i) {
  if (graph[node].op) return graph[node].op->mutates(*graph[node].attrs, i);
  if (graph[node].is_variable()) return false;
  const auto& mutated = graph[node].info->unknown_mutated;
  return std::find(mutated.begin(), mutated.end(), i) != mutated.end();
}

std::vector<char> mutated_variables(const Graph& graph) {
  std::vector<char> mutated(graph.size(), false);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const auto inputs = graph.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (mutates_input(graph, id, static_cast<int>(i))) mutated[inputs[i].node] = true;
    }
  }
  return mutated;
}

std::string dump(const Graph& graph, const std::function<std::string(NodeId)>& note) {
  std::string text;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    text += fmt::format("%{} = {}(", id, node.is_variable() ? "variable" : graph.op_name(id));
    const char* separator = "";
    for (const ValueRef& input : graph.inputs(id)) {
      text += fmt::format("{}%{}", separator, input.node);
      if (graph[input.node].num_values() > 1) text += fmt::format(".{}", input.index);
      separator = ", ";
    }
    if (node.attrs) {
      for (const auto& [key, value] : node.attrs->given()) {
        text += fmt::format("{}{}={}", separator, key, value);
        separator = ", ";
      }
    }
    text += ')';
    if (note) text += ": " + note(id);
    if (node.info && !node.info->name.empty()) text += "  # " + node.info->name;
    if (node.forward >= 0) text += fmt::format("  # backward of %{}", node.forward);
    text += '\n';
  }
  text += "return";
  const char* separator = " ";
  for (const ValueRef& output : graph.outputs) {
    text += fmt::format("{}%{}.{}", separator, output.node, output.index);
    separator = ", ";
  }
  return text + '\n';
}

}  // namespace loomix
