// SPDX-License-Identifier: Apache-2.0
#include "symbol/json_upgrade.h"

#include "base/error.h"

namespace loomix {
namespace {

constexpr int kCurrent = 10901;
constexpr int kAuxInGraph = 900;
constexpr int kInitializers = 904;
constexpr int kArgmaxAxis = 905;
using Kept = std::vector<std::pair<std::string, std::string>>;

// Bare hidden keys get their underscores; `bias_lr_mult` is set aside, for it may belong to the variable behind `bias`.
Kept take_hidden_keys(SymbolNode& node) {
  Kept for_inputs;
  for (auto at = node.dict.begin(); at != node.dict.end();) {
    const auto next = std::next(at);
    if (is_hidden_key(at->first)) {
      node.dict[fmt::format("__{}__", at->first)] = at->second;
      node.dict.erase(at);
    } else if (!node.is_variable() && ends_in_hidden_key(at->first)) {
      for_inputs.push_back(*at);
      node.dict.erase(at);
    }
    at = next;
  }
  return for_inputs;
}

// MXNet keeps what is given to an operator that has no parameters without a look; its cosine loss gives an `axis`.
void drop_idle_arguments(SymbolNode& node) {
  if (!node.op || !node.op->params->fields().empty()) return;
  std::erase_if(node.dict, [](const auto& item) {
    return !item.first.starts_with("__") && !is_hidden_key(item.first) && !ends_in_hidden_key(item.first);
  });
}

void give_to_inputs(SymbolNode& node, const Kept& kept) {
  for (const auto& [key, value] : kept) {
    bool given = false;
    for (std::string_view hidden : kHiddenKeys) {
      if (!key.ends_with(hidden)) continue;
      for (size_t i = 0; i < node.inputs.size() && node.op && !given; ++i) {
        if (key != fmt::format("{}_{}", node.input_name(static_cast<int>(i)), hidden)) continue;
        if (!node.inputs[i].node->is_variable()) continue;
        node.inputs[i].node->dict[fmt::format("__{}__", hidden)] = value;
        given = true;
      }
    }
    if (!given) node.dict[key] = value;
  }
}

}  // namespace

void upgrade_node(SymbolNode& node, int version, const ops::OpTable& table) {
  const Kept kept = version < kCurrent ? take_hidden_keys(node) : Kept();
  if (version < kArgmaxAxis && (node.op_name() == "argmax" || node.op_name() == "argmin")) {
    if (const auto axis = node.dict.find("axis"); axis != node.dict.end() && axis->second == "-1")
      node.dict.erase(axis);
  }
  drop_idle_arguments(node);
  node.parse(table);
  if (node.op) {
    const int count = node.op->count_inputs(*node.attrs);
    const int given = static_cast<int>(node.inputs.size());
    const bool fill = version < kAuxInGraph && node.op->variadic_count.empty() && given < count;
    LOOMIX_CHECK(given == count || fill, ValueError,
                 "[Symbol.load_json] node '{}' ({}) has {} inputs; expected {}.", node.name, node.op->name,
                 given, count);
    for (int i = given; i < count; ++i) {
      auto variable = make_ref<SymbolNode>();
      variable->name = node.name + '_' + node.input_name(i);
      variable->dict = node.dict;
      node.inputs.push_back({std::move(variable), 0});
    }
    for (int i = 0; i < count; ++i) {
      SymbolNode& input = *node.inputs[i].node;
      LOOMIX_CHECK(
          !node.mutates(i) || input.is_variable(), ValueError,
          "[Symbol.load_json] input '{}' of node '{}' ({}) must be a variable; it is the output of '{}'.",
          node.input_name(i), node.name, node.op->name, input.name);
      const char* init = version < kInitializers ? first_value(node, i) : nullptr;
      if (init && input.is_variable()) input.dict.emplace("__init__", init);
    }
  }
  give_to_inputs(node, kept);
}

}  // namespace loomix
