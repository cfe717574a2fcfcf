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

// The new nodes run where the graph does, not where they were traced, and have the late node's hidden attributes, such as
// __ctx_group__.
void settle(const SymbolNode& late, const std::vector<SymbolOutput>& outputs,
            const std::vector<SymbolOutput>& inputs) {
  std::unordered_set<const SymbolNode*> seen;
  for (const SymbolOutput& input : inputs) seen.insert(input.node.get());
  std::vector<SymbolNode*> next;
  for (const SymbolOutput& output : outputs) next.push_back(output.node.get());
  while (!next.empty()) {
    SymbolNode* const node = next.back();
    next.pop_back();
    if (!seen.insert(node).second) continue;
    for (const auto& [key, value] : late.dict) {
      if (key.starts_with("__") && key.ends_with("__")) node->dict.emplace(key, value);
    }
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
  for (const auto& [key, value] : attrs)
    node->dict[is_hidden_key(key) ? fmt::format("__{}__", key) : key] = value;
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

namespace {

// What is known of outputs, so that inference need not begin at the variables for each late node.
class Knowledge {
 public:
  Knowledge(const std::vector<std::pair<std::string, Shape>>& shapes,
            const std::vector<std::pair<std::string, DType>>& dtypes)
      : shapes_(shapes), dtypes_(dtypes) {}

  void learn(const SymbolOutput& output, const Shape& shape, DType dtype) {
    values_[output.node.get()].push_back({output.index, shape, dtype});
  }

  // The outputs with their shapes and types; shapes may be unknown.
  std::vector<KnownSymbol> of(const std::vector<SymbolOutput>& outputs) {
    std::vector<SymbolOutput> unknown;
    for (const SymbolOutput& output : outputs) {
      if (!find(output)) unknown.push_back(output);
    }
    if (!unknown.empty()) infer(unknown);
    std::vector<KnownSymbol> found;
    for (const SymbolOutput& output : outputs) {
      const Value* const value = find(output);
      found.push_back(
          {Symbol({output}), value ? value->shape : Shape::unknown(), value ? value->dtype : DType::float32});
    }
    return found;
  }

 private:
  struct Value {
    int index;
    Shape shape;
    DType dtype;
  };

  const Value* find(const SymbolOutput& output) const {
    const auto found = values_.find(output.node.get());
    if (found == values_.end()) return nullptr;
    for (const Value& value : found->second) {
      if (value.index == output.index) return &value;
    }
    return nullptr;
  }

  // Begins at the outputs that are known; where that does not tell all, because a shape follows from what stands before
  // them, at the variables.
  void infer(const std::vector<SymbolOutput>& outputs) {
    auto shapes = shapes_;
    auto dtypes = dtypes_;
    const Symbol part = cut(outputs, shapes, dtypes);
    if (!infer(part, outputs, shapes, dtypes)) infer(Symbol(outputs), outputs, shapes_, dtypes_);
  }

  bool infer(const Symbol& part, const std::vector<SymbolOutput>& outputs,
             const std::vector<std::pair<std::string, Shape>>& shapes,
             const std::vector<std::pair<std::string, DType>>& dtypes) {
    const auto found = part.infer_shape(used(part, shapes), ShapeRule::numpy);
    const auto types = part.infer_type(used(part, dtypes));
    bool all = true;
    for (size_t i = 0; i < outputs.size(); ++i) {
      all = all && found.outputs[i].is_known();
      const DType dtype = types.outputs[i] == DType::unknown ? DType::float32 : types.outputs[i];
      if (found.outputs[i].is_known() && !find(outputs[i])) learn(outputs[i], found.outputs[i], dtype);
    }
    return all;
  }

  // A copy of what computes the outputs, with variables in place of what is known.
  Symbol cut(const std::vector<SymbolOutput>& outputs, std::vector<std::pair<std::string, Shape>>& shapes,
             std::vector<std::pair<std::string, DType>>& dtypes) {
    std::unordered_map<const SymbolNode*, Ref<SymbolNode>> copies;
    int count = 0;
    const auto begins = [&](const SymbolOutput& output) {
      const Value* const value = output.node->is_variable() ? nullptr : find(output);
      if (!value) return SymbolOutput();
      const Symbol variable = Symbol::variable(fmt::format("\x01{}", count++));
      shapes.emplace_back(*variable.name(), value->shape);
      dtypes.emplace_back(*variable.name(), value->dtype);
      return variable.outputs()[0];
    };
    std::vector<std::pair<const SymbolNode*, bool>> todo;  // and whether its inputs are copied
    for (const SymbolOutput& output : outputs) todo.emplace_back(output.node.get(), false);
    while (!todo.empty()) {
      auto& [node, ready] = todo.back();
      const SymbolNode* const current = node;
      if (copies.contains(current)) {
        todo.pop_back();
        continue;
      }
      if (!ready) {
        ready = true;
        for (const SymbolOutput& input : current->inputs) {
          if (input.node->is_variable() || !find(input)) todo.emplace_back(input.node.get(), false);
        }
        continue;
      }
      std::vector<SymbolOutput> inputs;
      for (const SymbolOutput& input : current->inputs) {
        SymbolOutput begin = begins(input);
        if (!begin.node) begin = {copies.at(input.node.get()), input.index};
        inputs.push_back(std::move(begin));
      }
      copies.emplace(current, current->with_inputs(std::move(inputs)));
      todo.pop_back();
    }
    std::vector<SymbolOutput> heads;
    for (const SymbolOutput& output : outputs) heads.push_back({copies.at(output.node.get()), output.index});
    return Symbol(std::move(heads));
  }

  const std::vector<std::pair<std::string, Shape>>& shapes_;
  const std::vector<std::pair<std::string, DType>>& dtypes_;
  std::unordered_map<const SymbolNode*, std::vector<Value>> values_;
};

}  // namespace

Symbol expand_late_nodes(const Symbol& symbol, const std::vector<std::pair<std::string, Shape>>& shapes,
                         const std::vector<std::pair<std::string, DType>>& dtypes, const ExpandNode& expand) {
  Knowledge knowledge(shapes, dtypes);
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
      const std::vector<KnownSymbol> given = knowledge.of(inputs);
      const auto is_known = [](const KnownSymbol& input) { return input.shape.is_known(); };
      if (std::all_of(given.begin(), given.end(), is_known)) {
        for (const KnownSymbol& made : expand(*node, given)) {
          outputs.push_back(made.symbol.outputs()[0]);
          knowledge.learn(outputs.back(), made.shape, made.dtype);
        }
        settle(*node, outputs, inputs);
        continue;
      }
    }
    Ref<SymbolNode> kept(node);
    if (changed) {
      kept = node->with_inputs(std::move(inputs));
      kept->control_deps = node->control_deps;
    }
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
