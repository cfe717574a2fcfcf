// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "symbol/symbol.h"
#include "symbol/symbol_node.h"

namespace loomix {
namespace {

size_t hash_of(const SymbolNode& node) {
  size_t hash = reinterpret_cast<size_t>(node.op) ^ node.attrs->hash();
  for (const SymbolOutput& input : node.inputs)
    hash = hash * 1000003 + reinterpret_cast<size_t>(input.node.get()) + static_cast<size_t>(input.index);
  return hash;
}

bool are_equal(const SymbolNode& a, const SymbolNode& b) {
  const auto group = [](const SymbolNode& node) {
    const auto found = node.dict.find("__ctx_group__");
    return found == node.dict.end() ? std::string() : found->second;
  };
  const auto same = [](const SymbolOutput& x, const SymbolOutput& y) {
    return x.node == y.node && x.index == y.index;
  };
  return a.op == b.op && *a.attrs == *b.attrs && group(a) == group(b) &&
         std::ranges::equal(a.inputs, b.inputs, same);
}

}  // namespace

Symbol Symbol::with_equal_merged() const {
  Symbol result = copy();              // the given nodes stay as they are
  std::vector<Ref<SymbolNode>> order;  // alive while inputs change
  for (SymbolNode* node : depth_first(result.outputs_)) order.emplace_back(node);
  std::unordered_set<const SymbolNode*> stays, changes;
  for (const SymbolOutput& output : result.outputs_) stays.insert(output.node.get());
  for (const auto& node : order) {
    for (size_t i = 0; node->op && i < node->inputs.size(); ++i) {
      if (node->mutates(static_cast<int>(i))) changes.insert(node->inputs[i].node.get());
    }
  }
  std::unordered_map<const SymbolNode*, Ref<SymbolNode>> instead;
  std::unordered_multimap<size_t, Ref<SymbolNode>> seen;
  for (const auto& node : order) {
    for (SymbolOutput& input : node->inputs) {
      if (const auto found = instead.find(input.node.get()); found != instead.end())
        input.node = found->second;
    }
    const auto is_changed = [&](const SymbolOutput& input) { return changes.contains(input.node.get()); };
    if (!node->op || node->op->random_numbers || node->op->impure || !node->subgraphs.empty() ||
        stays.contains(node.get()) || std::ranges::any_of(node->inputs, is_changed))
      continue;
    const size_t hash = hash_of(*node);
    const auto [begin, end] = seen.equal_range(hash);
    const auto twin =
        std::find_if(begin, end, [&](const auto& known) { return are_equal(*known.second, *node); });
    if (twin == end) seen.emplace(hash, node);
    else instead.emplace(node.get(), twin->second);
  }
  return result;
}

}  // namespace loomix
