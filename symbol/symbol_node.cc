// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbol_node.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "symbol/control_flow/subgraph.h"

namespace loomix {

SymbolNode::~SymbolNode() {
  std::vector<SymbolOutput> doomed = std::move(inputs);
  for (auto& dep : control_deps) doomed.push_back({std::move(dep), 0});
  while (!doomed.empty()) {
    const SymbolOutput last = std::move(doomed.back());
    doomed.pop_back();
    if (!last.node || !last.node->unique()) continue;
    for (auto& input : last.node->inputs) doomed.push_back(std::move(input));
    for (auto& dep : last.node->control_deps) doomed.push_back({std::move(dep), 0});
    last.node->inputs.clear();
    last.node->control_deps.clear();
  }
}

int SymbolNode::num_outputs() const {
  if (op) return op->count_outputs(*attrs);
  return is_variable() ? 1 : unknown_outputs;
}

int SymbolNode::num_visible_outputs() const { return op ? op->count_visible_outputs(*attrs) : num_outputs(); }

std::string SymbolNode::output_name(int i) const {
  if (is_variable()) return name;
  if (op) return name + '_' + op->output_name(*attrs, i);
  return unknown_outputs == 1 ? name + "_output" : fmt::format("{}_output{}", name, i);
}

std::string SymbolNode::input_name(int i) const {
  return op ? op->input_name(*attrs, i) : fmt::format("arg{}", i);
}

bool SymbolNode::mutates(int input) const {
  if (op) return op->mutates(*attrs, input);
  return std::find(unknown_mutated.begin(), unknown_mutated.end(), input) != unknown_mutated.end();
}

Ref<SymbolNode> SymbolNode::with_inputs(std::vector<SymbolOutput> others) const {
  auto copy = make_ref<SymbolNode>();
  copy->op = op;
  copy->attrs = attrs;
  copy->name = name;
  copy->dict = dict;
  copy->inputs = std::move(others);
  copy->subgraphs = subgraphs;
  copy->unknown_op = unknown_op;
  copy->unknown_outputs = unknown_outputs;
  copy->unknown_mutated = unknown_mutated;
  return copy;
}

void SymbolNode::parse(const ops::OpTable& table) {
  if (!op) return;
  TextPairs params;
  for (const auto& [key, value] : dict) {
    if (key.starts_with("__") && key.ends_with("__")) continue;
    if (ends_in_hidden_key(key) && !op->params->find(key)) continue;  // left over from an old file
    params.emplace_back(key, value);
  }
  try {
    attrs = table.parse(*op, params);
    if (op->with_subgraphs) {
      std::vector<Ref<const Opaque>> graphs;
      for (const auto& heads : subgraphs) graphs.push_back(make_ref<Subgraph>(heads));
      attrs = op->with_subgraphs(table, *attrs, graphs);
    }
    constexpr int kMost = 65535;
    LOOMIX_CHECK(op->count_outputs(*attrs) <= kMost && op->count_inputs(*attrs) <= kMost, ValueError,
                 "[{}] the attributes ask for {} inputs and {} outputs; at most {} each are possible.",
                 op->name, op->count_inputs(*attrs), op->count_outputs(*attrs), kMost);
    LOOMIX_CHECK(op->count_outputs(*attrs) > 0 && op->count_inputs(*attrs) >= 0, ValueError,
                 "[{}] the attributes ask for {} inputs and {} outputs; expected at least one output.",
                 op->name, op->count_inputs(*attrs), op->count_outputs(*attrs));
  } catch (Error& error) {
    error.add_context(fmt::format("in node '{}'", name));
    throw;
  }
}

std::vector<SymbolNode*> depth_first(std::span<const SymbolOutput> outputs) {
  struct Frame {
    SymbolNode* node;
    size_t next;
  };
  std::vector<SymbolNode*> order;
  std::unordered_set<const SymbolNode*> seen;
  std::vector<Frame> stack;
  const auto enter = [&](SymbolNode* node) {
    if (seen.insert(node).second) stack.push_back({node, 0});
  };
  for (const SymbolOutput& output : outputs) {
    enter(output.node.get());
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      const size_t position = next++;
      if (position < node->inputs.size()) {
        enter(node->inputs[position].node.get());
      } else if (position < node->inputs.size() + node->control_deps.size()) {
        enter(node->control_deps[position - node->inputs.size()].get());
      } else {
        order.push_back(node);
        stack.pop_back();
      }
    }
  }
  return order;
}

bool is_hidden_key(std::string_view key) {
  return std::find(kHiddenKeys.begin(), kHiddenKeys.end(), key) != kHiddenKeys.end();
}

bool ends_in_hidden_key(std::string_view key) {
  return !key.starts_with("__") &&
         std::any_of(kHiddenKeys.begin(), kHiddenKeys.end(), [&](std::string_view hidden) {
           return key.size() > hidden.size() + 1 && key.ends_with(hidden) &&
                  key[key.size() - hidden.size() - 1] == '_';
         });
}

const char* first_value(const SymbolNode& node, int input) {
  return node.op && node.op->first_value ? node.op->first_value(*node.attrs, input) : nullptr;
}

}  // namespace loomix
