// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbol_precision.h"

#include <algorithm>
#include <unordered_map>

#include "ops/table.h"

namespace loomix {
namespace {

using Known = std::unordered_map<const SymbolNode*, std::vector<DType>>;

DType dtype_of_variable(const SymbolNode& node) {
  NodeInfo info;
  info.extra.assign(node.dict.begin(), node.dict.end());
  return dtype_of_variable(&info);
}

// What is sure of the types of the outputs. It looks back as far as the types do not follow from the nodes themselves.
void find_dtypes(const SymbolNode& last, const PrecisionRules& rules, Known& known) {
  std::vector<const SymbolNode*> stack{&last};
  while (!stack.empty()) {
    const SymbolNode& node = *stack.back();
    if (known.contains(&node)) {
      stack.pop_back();
      continue;
    }
    if (!node.op) {
      known[&node].assign(node.num_outputs(), node.is_variable() ? dtype_of_variable(node) : DType::unknown);
      continue;
    }
    if (node.op == &rules.cast()) {
      known[&node] = rules.output_dtypes(*node.op, *node.attrs, {});
      continue;
    }
    const size_t waiting = stack.size();
    for (const SymbolOutput& input : node.inputs) {
      if (!known.contains(input.node.get())) stack.push_back(input.node.get());
    }
    if (stack.size() > waiting) continue;
    std::vector<DType> inputs;
    for (const SymbolOutput& input : node.inputs) inputs.push_back(known.at(input.node.get())[input.index]);
    known[&node] = rules.output_dtypes(*node.op, *node.attrs, inputs);
  }
}

Ref<SymbolNode> make_node(const ops::OpTable& table, const ops::OpDef& op, std::string name,
                          std::pair<std::string, std::string> parameter, const SymbolNode& reader) {
  auto node = make_ref<SymbolNode>();
  node->op = &op;
  node->name = std::move(name);
  node->dict.insert(std::move(parameter));
  if (const auto group = reader.dict.find("__ctx_group__"); group != reader.dict.end())
    node->dict.insert(*group);
  node->parse(table);
  return node;
}

}  // namespace

Symbol reduce_precision(const Symbol& symbol, const ops::OpTable& table, const PrecisionRules& rules,
                        std::span<const std::string> excluded, std::span<const std::string> parameters) {
  const ReducedPrecision reduced = reduce_precision(symbol.graph(), table, rules, excluded, parameters);
  const Graph& graph = reduced.graph;
  const auto before = depth_first(symbol.outputs());  // in the order of symbol.graph()
  std::vector<Ref<SymbolNode>> nodes;
  std::unordered_map<const SymbolNode*, Ref<SymbolNode>> copies;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const NodeId origin = reduced.origin[id];
    auto node = make_ref<SymbolNode>();
    node->op = graph[id].op;
    node->attrs = graph[id].attrs;
    if (origin < 0) {
      node->name = graph.name_of(id);
      for (const auto& [key, value] : graph[id].info->extra) node->dict[key] = value;
      for (const auto& [key, value] : graph[id].attrs->given()) node->dict[key] = value;
    } else {
      const SymbolNode& old = *before[origin];
      node->name = old.name;
      node->dict = old.dict;
      node->unknown_op = old.unknown_op;
      node->unknown_outputs = old.unknown_outputs;
      node->unknown_mutated = old.unknown_mutated;
      node->subgraphs = old.subgraphs;
      for (const auto& dep : old.control_deps) node->control_deps.push_back(copies.at(dep.get()));
      if (old.is_variable()) {
        if (const std::string* dtype = graph[id].info->find("__dtype__")) node->dict["__dtype__"] = *dtype;
      }
      copies.emplace(&old, node);
    }
    for (const ValueRef& input : graph.inputs(id)) node->inputs.push_back({nodes[input.node], input.index});
    nodes.push_back(std::move(node));
  }
  std::vector<SymbolOutput> outputs;
  for (const ValueRef& output : graph.outputs) outputs.push_back({nodes[output.node], output.index});
  return Symbol(std::move(outputs));
}

void cast_inputs(SymbolNode& node, const ops::OpTable& table, const PrecisionRules& rules) {
  if (!node.op) return;
  Known known;
  std::vector<DType> dtypes;
  for (const SymbolOutput& input : node.inputs) {
    find_dtypes(*input.node, rules, known);
    dtypes.push_back(known.at(input.node.get())[input.index]);
  }
  const Precision precision = rules.precision_of(*node.op, *node.attrs);
  const InputCasts casts = input_casts(*node.op, *node.attrs, dtypes, precision, rules.low());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (casts.to[i] == DType::unknown) continue;
    const std::string input_name = node.input_name(static_cast<int>(i));
    auto cast = make_node(table, rules.cast(), fmt::format("{}_{}_amp_cast", node.name, input_name),
                          {"dtype", std::string(name_of(casts.to[i]))}, node);
    cast->inputs.push_back(node.inputs[i]);
    node.inputs[i] = {std::move(cast), 0};
  }
  if (casts.multicast.empty()) return;
  const auto widest = make_node(table, rules.multicast(), node.name + "_amp_multicast",
                                {"num_outputs", std::to_string(casts.multicast.size())}, node);
  for (size_t k = 0; k < casts.multicast.size(); ++k) {
    SymbolOutput& input = node.inputs[casts.multicast[k]];
    widest->inputs.push_back(input);
    input = {widest, static_cast<int>(k)};
  }
}

}  // namespace loomix
