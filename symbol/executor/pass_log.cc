// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/pass_log.h"

#include <algorithm>

#include "engine/trace.h"
#include "ops/blocked/blocked.h"

namespace loomix {

PassLog::PassLog() : ended_ns_(engine::Trace::now()) {}

PassLog::Inventory PassLog::inventory_of(const Graph& graph) {
  Inventory found;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!node.op) continue;
    if (node.held) {
      ++found.held;
      continue;
    }
    ++found.count;
    Operators& same = found.operators[node.op->name];
    same.converts_layout = ops::converts_layout(*node.op);
    ++same.names[node.info ? node.info->name : std::string()];
  }
  return found;
}

std::vector<PassNote::Operators> PassLog::more(const Inventory& in, const Inventory& than) {
  std::vector<PassNote::Operators> result;
  for (const auto& [op, here] : in.operators) {
    const auto other = than.operators.find(op);
    PassNote::Operators surplus{op, 0, {}};
    for (const auto& [name, count] : here.names) {
      int there = 0;
      if (other != than.operators.end()) {
        const auto same = other->second.names.find(name);
        if (same != other->second.names.end()) there = same->second;
      }
      for (int i = there; i < count; ++i) {
        ++surplus.count;
        if (!name.empty()) surplus.names.push_back(name);
      }
    }
    if (surplus.count > 0) result.push_back(std::move(surplus));
  }
  std::ranges::stable_sort(result, [](const auto& a, const auto& b) { return a.count > b.count; });
  return result;
}

void PassLog::note(std::string_view pass, const Graph& graph) {
  const int64_t now = engine::Trace::now();
  Inventory inventory = inventory_of(graph);
  PassNote& note = notes_.emplace_back();
  note.pass = pass;
  note.before = notes_.size() == 1 ? inventory.count : last_.count;
  note.after = inventory.count;
  if (notes_.size() > 1) {
    note.gone = more(last_, inventory);
    note.made = more(inventory, last_);
  }
  for (const PassNote::Operators& made : note.made) {
    if (inventory.operators.at(made.op).converts_layout) note.conversions += made.count;
  }
  note.held = std::max(0, inventory.held - last_.held);
  note.ns = now - ended_ns_;
  last_ = std::move(inventory);
  ended_ns_ = engine::Trace::now();  // without what the note itself took
}

}  // namespace loomix
