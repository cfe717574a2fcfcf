// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "symbol/autograd/tape.h"
#include "symbol/autograd/tape_node.h"
#include "symbol/symbol.h"

namespace loomix::autograd {

namespace {

// Gives each array that no operator on the tape made one variable, however often it was used.
class Constants {
 public:
  SymbolOutput operator()(const NDArray& array) {
    auto& node = nodes_[{&array.storage(), array.offset(), array.shape().to_string()}];
    if (!node) {
      node = make_ref<SymbolNode>();
      node->name = fmt::format("null{}", nodes_.size() - 1);
    }
    return {node, 0};
  }

 private:
  std::map<std::tuple<const Storage*, int64_t, std::string>, Ref<SymbolNode>> nodes_;
};

}  // namespace

Symbol recorded_symbol(const NDArray& array) {
  LOOMIX_CHECK(
      array.tape(), StateError,
      "[get_symbol] the array of shape {} was not recorded: no operator made it from a variable under "
      "record().",
      array.shape().to_string());
  std::unordered_map<const TapeNode*, Ref<SymbolNode>> made;
  Constants constants;
  int variables = 0, operators = 0;
  for (const Ref<TapeNode>& recorded : reachable({&array, 1})) {
    auto node = make_ref<SymbolNode>();
    node->op = recorded->op;
    node->attrs = recorded->attrs;
    node->name = recorded->name;
    if (node->attrs) node->dict.insert(node->attrs->given().begin(), node->attrs->given().end());
    if (node->name.empty())
      node->name = node->op ? fmt::format("node_{}", operators++) : fmt::format("var{}", variables++);
    for (const TapeNode::Input& input : recorded->inputs) {
      const TapeNode* const from = node_of(input.array);
      node->inputs.push_back(from ? SymbolOutput{made.at(from), input.array.tape_index()}
                                  : constants(input.array));
    }
    made.emplace(recorded.get(), std::move(node));
  }
  return Symbol({{made.at(node_of(array)), array.tape_index()}});
}

}  // namespace loomix::autograd
