// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/symbol/late_nodes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "bindings/python/core/process/runtime.h"

namespace loomix::python {
namespace {

// Those of the pairs whose names are inputs of the symbol.
template <class T>
std::vector<std::pair<std::string, T>> used(const Symbol& symbol,
                                            const std::vector<std::pair<std::string, T>>& known) {
  const auto names = symbol.list_inputs();
  const std::unordered_set<std::string> wanted(names.begin(), names.end());
  std::vector<std::pair<std::string, T>> found;
  std::copy_if(known.begin(), known.end(), std::back_inserter(found),
               [&](const auto& pair) { return wanted.contains(pair.first); });
  return found;
}

Ref<SymbolNode> copy_of(const SymbolNode& node, std::vector<SymbolOutput> inputs) {
  auto copy = make_ref<SymbolNode>();
  copy->op = node.op;
  copy->attrs = node.attrs;
  copy->name = node.name;
  copy->dict = node.dict;
  copy->inputs = std::move(inputs);
  copy->control_deps = node.control_deps;
  copy->subgraphs = node.subgraphs;
  copy->unknown_op = node.unknown_op;
  copy->unknown_outputs = node.unknown_outputs;
  copy->unknown_mutated = node.unknown_mutated;
  return copy;
}

// The new nodes run where the graph does, not where they were traced.
void forget_devices(const std::vector<SymbolOutput>& outputs, const std::vector<SymbolOutput>& inputs) {
  std::unordered_set<const SymbolNode*> seen;
  for (const SymbolOutput& input : inputs) seen.insert(input.node.get());
  std::vector<SymbolNode*> next;
  for (const SymbolOutput& output : outputs) next.push_back(output.node.get());
  while (!next.empty()) {
    SymbolNode* const node = next.back();
    next.pop_back();
    if (!seen.insert(node).second) continue;
    if (node->op && node->dict.erase("ctx") > 0) node->parse(operators());
    for (const SymbolOutput& input : node->inputs) next.push_back(input.node.get());
  }
}

}  // namespace

bool is_late(const SymbolNode& node) { return !node.op && node.unknown_op.starts_with("_np"); }

bool has_late_nodes(const Symbol& symbol) {
  const auto order = depth_first(symbol.outputs());
  return std::any_of(order.begin(), order.end(), [](const SymbolNode* node) { return is_late(*node); });
}

Symbol late_node(std::string op, std::string name, const TextPairs& attrs, const std::vector<Symbol>& inputs,
                 int outputs) {
  auto node = make_ref<SymbolNode>();
  node->unknown_op = std::move(op);
  node->name = std::move(name);
  node->unknown_outputs = outputs;
  node->dict.insert(attrs.begin(), attrs.end());
  for (const Symbol& input : inputs) {
    LOOMIX_CHECK(input.num_outputs() == 1, ValueError,
                 "[{}] an argument is a symbol with {} outputs; expected one: pick it by index.",
                 node->unknown_op, input.num_outputs());
    node->inputs.push_back(input.outputs()[0]);
  }
  std::vector<SymbolOutput> made;
  for (int i = 0; i < outputs; ++i) made.push_back({node, i});
  return Symbol(std::move(made));
}

Symbol expand_late_nodes(const Symbol& symbol, const std::vector<std::pair<std::string, Shape>>& shapes,
                         const std::vector<std::pair<std::string, DType>>& dtypes, const ExpandNode& expand) {
  std::unordered_map<const SymbolNode*, std::vector<SymbolOutput>> done;
  const auto now = [&](const SymbolOutput& before) {
    const auto& outputs = done.at(before.node.get());
    LOOMIX_CHECK(before.index < static_cast<int>(outputs.size()), ValueError,
                 "[{}] output {} of node '{}' is used; its function gives {}.", before.node->op_name(),
                 before.index, before.node->name, outputs.size());
    return outputs[before.index];
  };
  for (SymbolNode* node : depth_first(symbol.outputs())) {
    std::vector<SymbolOutput> inputs;
    bool changed = false;
    for (const SymbolOutput& input : node->inputs) {
      inputs.push_back(now(input));
      changed = changed || !(inputs.back().node == input.node);
    }
    std::vector<SymbolOutput>& outputs = done[node];
    if (is_late(*node)) {
      const Symbol before(inputs);
      const auto known = before.infer_shape(used(before, shapes), ShapeRule::numpy);
      const auto types = before.infer_type(used(before, dtypes));
      std::vector<LateInput> given;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const DType type = types.outputs[i];
        given.push_back(
            {Symbol({inputs[i]}), known.outputs[i], type == DType::unknown ? DType::float32 : type});
      }
      const auto is_known = [](const LateInput& input) { return input.shape.is_known(); };
      if (std::all_of(given.begin(), given.end(), is_known)) {
        for (const Symbol& made : expand(*node, given)) outputs.push_back(made.outputs()[0]);
        forget_devices(outputs, inputs);
        continue;
      }
    }
    const Ref<SymbolNode> kept = changed ? copy_of(*node, std::move(inputs)) : Ref<SymbolNode>(node);
    for (int i = 0; i < node->num_outputs(); ++i) outputs.push_back({kept, i});
  }
  std::vector<SymbolOutput> heads;
  for (const SymbolOutput& head : symbol.outputs()) heads.push_back(now(head));
  return Symbol(std::move(heads));
}

void become(const Symbol& graph, const std::string& variable, const Symbol& value) {
  for (SymbolNode* node : depth_first(graph.outputs())) {
    if (!node->is_variable() || node->name != variable) continue;
    const SymbolNode& from = *value.outputs()[0].node;
    node->op = from.op;
    node->attrs = from.attrs;
    node->dict = from.dict;
    node->inputs = from.inputs;
  }
}

}  // namespace loomix::python
