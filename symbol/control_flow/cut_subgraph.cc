// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "symbol/symbol.h"

namespace loomix {
namespace {

constexpr std::string_view kNameKey = "__subgraph_name__";

// Copies the nodes of the part, and makes variables where they take something from outside.
class Cutter {
 public:
  explicit Cutter(std::string_view name) : name_(name) {}

  Symbol::Cut cut(std::span<const SymbolOutput> heads) {
    for (SymbolNode* node : depth_first(heads)) {
      if (is_inside(*node)) copy(*node);
      if (node->is_variable()) names_.insert(node->name);
    }
    std::vector<SymbolOutput> outputs;
    for (const SymbolOutput& head : heads) outputs.push_back(translated(head));
    Symbol::Cut cut{Symbol(std::move(outputs)), {}};
    for (SymbolNode* node : depth_first(cut.graph.outputs())) {
      if (!node->is_variable()) continue;
      const auto outside = outside_.find(node);
      cut.inputs.push_back(
          Symbol({outside == outside_.end() ? SymbolOutput{Ref<SymbolNode>(node), 0} : outside->second}));
    }
    return cut;
  }

 private:
  bool is_inside(const SymbolNode& node) const {
    const auto found = node.dict.find(kNameKey);
    return !node.is_variable() && found != node.dict.end() && found->second == name_;
  }

  void copy(const SymbolNode& node) {
    LOOMIX_CHECK(
        node.op, ValueError,
        "[control flow] '{}' in the body or condition is of operator {}, which is none of the table; a "
        "function of mx.sym.np becomes operators when the graph's shapes are known, which a body's are not. "
        "Expected functions of mx.sym, or a block that defines forward() alone.",
        node.name, node.op_name());
    std::vector<SymbolOutput> inputs;
    for (const SymbolOutput& input : node.inputs) inputs.push_back(translated(input));
    copies_.emplace(&node, node.with_inputs(std::move(inputs)));
  }

  // Variables stay the nodes that they are.
  SymbolOutput translated(const SymbolOutput& output) {
    if (output.node->is_variable()) return output;
    if (const auto found = copies_.find(output.node.get()); found != copies_.end())
      return {found->second, output.index};
    Ref<SymbolNode>& variable = variables_[{output.node.get(), output.index}];
    if (!variable) {
      variable = make_ref<SymbolNode>();
      variable->name = output.node->output_name(output.index);
      while (!names_.insert(variable->name).second) variable->name += '_';
      outside_.emplace(variable.get(), output);
    }
    return {variable, 0};
  }

  const std::string_view name_;
  std::unordered_map<const SymbolNode*, Ref<SymbolNode>> copies_;
  std::map<std::pair<const SymbolNode*, int>, Ref<SymbolNode>> variables_;  // by what they stand for
  std::unordered_map<const SymbolNode*, SymbolOutput> outside_;
  std::unordered_set<std::string> names_;  // of variables
};

}  // namespace

Symbol::Cut Symbol::cut_subgraph(std::string_view name) const { return Cutter(name).cut(outputs_); }

}  // namespace loomix
