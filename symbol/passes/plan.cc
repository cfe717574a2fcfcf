// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/plan.h"

#include <algorithm>

#include "base/error.h"
#include "ops/shape/parts.h"

namespace loomix {
namespace {

// Finds values that lie in the memory of others.
class RootFinder {
 public:
  RootFinder(const Graph& graph, const ValueIndex& index, const Inference& known,
             std::span<const Device> devices, std::span<const char> pinned, std::span<const char> copied,
             GraphPlan& plan)
      : graph_(graph),
        index_(index),
        known_(known),
        devices_(devices),
        pinned_(pinned),
        copied_(copied),
        plan_(plan) {
    changes_.assign(static_cast<size_t>(index.size()), false);
    const auto mutated = mutated_variables(graph);
    last_use_.assign(static_cast<size_t>(index.size()), -1);
    for (NodeId id = 0; id < graph.size(); ++id) {
      changes_[at(index(id, 0))] = mutated[at(id)];
      const auto inputs = graph.inputs(id);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (graph[id].op && !graph[id].op->is_shape_only(*graph[id].attrs, static_cast<int>(i)))
          last_use_[at(index[inputs[i]])] = id;
      }
    }
  }

  void run(Parts parts) {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!graph_[id].op) continue;
      if (!graph_[id].op->identity.empty()) find_view(id);
      else if (parts == Parts::in_place) find_parts(id);
    }
    if (parts == Parts::in_place) {
      for (NodeId id = graph_.size(); id-- > 0;) find_join(id);
    }
    for (int value = 0; value < index_.size(); ++value) settle(value);
  }

 private:
  static size_t at(int i) { return static_cast<size_t>(i); }
  const Shape& shape(int value) const { return known_.shapes[at(value)]; }

  bool is_placed(int value) const { return plan_.root[at(value)] != value; }

  // Whether an output may lie in the memory of an input; later content must not show through.
  bool may_lie_in(int output, int input, NodeId id, NodeId from) const {
    return !pinned_[at(output)] && known_.dtypes[at(input)] == known_.dtypes[at(output)] &&
           known_.stype(input) == StorageType::dense && devices_[at(from)] == devices_[at(id)] &&
           !changes_[at(plan_.root[at(input)])];
  }
  void put(int value, int into, int64_t begin) {
    plan_.root[at(value)] = plan_.root[at(into)];
    plan_.begin[at(value)] = plan_.begin[at(into)] + begin;
  }

  // A node whose one output is its input under another shape.
  void find_view(NodeId id) {
    const Node& node = graph_[id];
    if (node.num_values() != 1) return;
    const auto inputs = graph_.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (node.op->schema_position(*node.attrs, static_cast<int>(i)) != node.op->identity[0].first) continue;
      const int input = index_[inputs[i]], output = index_(id, 0);
      if (shape(input).size() != shape(output).size() || !may_lie_in(output, input, id, inputs[i].node))
        return;
      put(output, input, 0);
      last_use_[at(input)] = std::max(last_use_[at(input)], last_use_[at(output)]);
      plan_.elided[at(id)] = true;
      return;
    }
  }

  // A node that cuts its input.
  void find_parts(NodeId id) {
    const Node& node = graph_[id];
    if (node.num_inputs == 0 || node.num_values() != node.num_outputs || copied_[at(id)]) return;
    const ValueRef from = graph_.inputs(id)[0];
    const int input = index_[from];
    const auto outputs = std::span(known_.shapes).subspan(at(index_(id, 0)), node.num_outputs);
    std::vector<int64_t> begins;
    int64_t elements = 0;
    NodeId last = -1;
    for (int i = 0; i < node.num_outputs; ++i) {
      const auto begin = ops::begin_of_part(*node.op, *node.attrs, shape(input), outputs, at(i));
      if (!begin || !may_lie_in(index_(id, i), input, id, from.node)) return;
      begins.push_back(*begin);
      elements += outputs[at(i)].size();
      last = std::max(last, last_use_[at(index_(id, i))]);
    }
    // A small piece should not keep a large array alive.
    const bool is_pinned = pinned_[at(plan_.root[at(input)])] || graph_[from.node].is_variable();
    if (!is_pinned && last > last_use_[at(input)] && 2 * elements < shape(input).size()) return;
    for (int i = 0; i < node.num_outputs; ++i) put(index_(id, i), input, begins[at(i)]);
    last_use_[at(input)] = std::max(last, last_use_[at(input)]);
    plan_.elided[at(id)] = true;
    ++plan_.num_parted;
  }

  // A node that joins its inputs, from the last one back: where its own output lies in another one's is known by then.
  void find_join(NodeId id) {
    const Node& node = graph_[id];
    if (!node.op || node.num_values() != 1 || plan_.elided[at(id)] || copied_[at(id)]) return;
    const int output = index_(id, 0);
    if (pinned_[at(output)] || !ops::joins_in_order(*node.op, *node.attrs, shape(output))) return;
    std::vector<int> parts;
    for (const ValueRef& input : graph_.inputs(id)) {
      const int part = index_[input];
      const Node& writer = graph_[input.node];
      if (writer.is_variable() || !writer.op || writer.op->data_dependent || plan_.elided[at(input.node)] ||
          input.index >= writer.num_outputs || pinned_[at(part)] || is_placed(part) ||
          !may_lie_in(output, part, id, input.node) || std::ranges::count(parts, part) > 0 ||
          last_use_[at(part)] > last_use_[at(plan_.root[at(output)])])  // the whole would be kept for it
        return;
      parts.push_back(part);
    }
    int64_t begin = 0;
    for (const int part : parts) {
      put(part, output, begin);
      begin += shape(part).size();
    }
    plan_.elided[at(id)] = true;
    ++plan_.num_parted;
  }

  // From where a value lies in the next one to where it lies in the last one.
  void settle(int value) {
    int& root = plan_.root[at(value)];
    while (is_placed(root)) {
      plan_.begin[at(value)] += plan_.begin[at(root)];
      root = plan_.root[at(root)];
    }
  }

  const Graph& graph_;
  const ValueIndex& index_;
  const Inference& known_;
  const std::span<const Device> devices_;
  const std::span<const char> pinned_;
  const std::span<const char> copied_;  // one a node: it must run
  GraphPlan& plan_;
  std::vector<char> changes_;
  std::vector<NodeId> last_use_;
};

// Of a variadic operator, a pair names one of its inputs, not all of them.
bool allows_inplace(const Node& node, int input, int output) {
  const bool variadic = !node.op->variadic_count.empty();
  const std::pair<int, int> pair{variadic ? input : node.op->schema_position(*node.attrs, input), output};
  return std::find(node.op->inplace.begin(), node.op->inplace.end(), pair) != node.op->inplace.end();
}

// In-place candidates of one node: the input goes nowhere else within the node but to inputs that may be overwritten.
void find_pairs(const Graph& graph, const ValueIndex& index, const Inference& known, NodeId id,
                const GraphPlan& plan, std::vector<memplan::InplacePair>& pairs) {
  const Node& node = graph[id];
  const auto inputs = graph.inputs(id);
  for (int output = 0; output < node.num_outputs; ++output) {
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      if (!allows_inplace(node, i, output)) continue;
      const int from = plan.root[index[inputs[i]]], to = index(id, output);
      if (plan.values[from].pinned || plan.values[to].pinned ||
          plan.values[from].bytes != plan.values[to].bytes ||
          known.shapes[index[inputs[i]]].size() != known.shapes[from].size())  // a part of `from`
        continue;
      bool elsewhere = node.op->is_shape_only(*node.attrs, i);
      for (int j = 0; j < static_cast<int>(inputs.size()); ++j) {
        elsewhere =
            elsewhere || (plan.root[index[inputs[j]]] == from && !node.op->is_shape_only(*node.attrs, j) &&
                          !allows_inplace(node, j, output));
      }
      if (!elsewhere) pairs.push_back({from, to});
    }
  }
}

// What lies in another value's memory is written there, and its readers read that value.
void use_roots(const Graph& graph, const ValueIndex& index, GraphPlan& plan) {
  std::vector<char> has_parts(plan.values.size(), false);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].is_variable() || plan.elided[id]) continue;
    for (int i = 0; i < graph[id].num_values(); ++i) {
      const int value = index(id, i), root = plan.root[value];
      if (root == value) continue;
      memplan::Value& whole = plan.values[root];
      if (!has_parts[root]) whole.writer = id;  // the first of them
      else whole.readers.push_back(id);
      has_parts[root] = true;
    }
  }
  for (size_t value = 0; value < has_parts.size(); ++value) {
    if (!has_parts[value]) continue;
    auto& readers = plan.values[value].readers;
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    if (!readers.empty() && readers.front() == plan.values[value].writer) readers.erase(readers.begin());
  }
}

// Joins and cuts must run that keep memory at the peak of their device. False if there are none.
bool copy_at_peak(const Graph& graph, const ValueIndex& index, const GraphPlan& plan,
                  std::vector<char>& copied) {
  bool any = false;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!plan.elided[id] || !graph[id].op->identity.empty() || copied[id]) continue;
    const memplan::Value& whole = plan.values[plan.root[index(id, 0)]];
    for (const memplan::Arena& arena : plan.memory.arenas) {
      if (arena.device != whole.device || whole.pinned || whole.readers.empty()) continue;
      if (whole.writer > arena.peak || arena.peak > whole.readers.back()) continue;
      copied[id] = true;
      any = true;
    }
  }
  return any;
}

GraphPlan plan_with(const Graph& graph, const Inference& known, std::span<const Device> devices,
                    std::span<const char> pinned, std::span<const int64_t> scratch_bytes,
                    const memplan::Options& options, Parts parts, std::span<const char> copied) {
  const ValueIndex index(graph);
  GraphPlan plan;
  plan.elided.assign(graph.size(), false);
  plan.root.resize(index.size());
  plan.begin.assign(index.size(), 0);
  for (int value = 0; value < index.size(); ++value) plan.root[value] = value;
  if (options.inplace) RootFinder(graph, index, known, devices, pinned, copied, plan).run(parts);
  plan.values.resize(index.size() + graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    memplan::Value& scratch = plan.values[index.size() + id];
    scratch.device = devices[id];
    scratch.writer = graph[id].is_variable() || plan.elided[id] ? -1 : id;
    scratch.pinned = scratch.writer < 0;
    if (!scratch.pinned && !scratch_bytes.empty()) scratch.bytes = scratch_bytes[id];
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    for (int i = 0; i < node.num_values(); ++i) {
      const int value = index(id, i);
      memplan::Value& entry = plan.values[value];
      entry.device = devices[id];
      entry.pinned = node.is_variable() || pinned[value] || plan.root[value] != value;
      entry.writer = node.is_variable() ? -1 : id;
      if (!entry.pinned) entry.bytes = known.shapes[value].size() * size_of(known.dtypes[value]);
    }
    if (!node.op || plan.elided[id]) continue;
    const auto inputs = graph.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (node.op->is_shape_only(*node.attrs, static_cast<int>(i))) continue;
      auto& readers = plan.values[plan.root[index[inputs[i]]]].readers;
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    }
  }
  use_roots(graph, index, plan);
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (int i = graph[id].num_outputs; i < graph[id].num_values(); ++i) {
      memplan::Value& saved = plan.values[index(id, i)];
      if (saved.readers.empty()) saved.bytes = 0;
    }
  }
  std::vector<memplan::InplacePair> pairs;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].op && !plan.elided[id]) find_pairs(graph, index, known, id, plan, pairs);
  }
  plan.memory = memplan::plan(plan.values, pairs, options);
  return plan;
}

}  // namespace

GraphPlan plan_memory(const Graph& graph, const Inference& known, std::span<const Device> devices,
                      std::span<const char> pinned, std::span<const int64_t> scratch_bytes,
                      const memplan::Options& options, Parts parts) {
  constexpr int kMostTurns = 6;
  constexpr int64_t kNoMatter = 4096;  // bytes
  std::vector<char> copied(static_cast<size_t>(graph.size()), false);
  const auto make = [&](Parts now) {
    return plan_with(graph, known, devices, pinned, scratch_bytes, options, now, copied);
  };
  GraphPlan plan = make(parts);
  if (plan.num_parted == 0) return plan;
  // All places of a join must be there when the first part is written, and a piece keeps all of its array: that may take more
  // than copying.
  GraphPlan all_copied = make(Parts::copied);
  const int64_t enough = all_copied.memory.lower_bound() + kNoMatter;
  for (int turn = 0; plan.num_parted > 0 && plan.memory.lower_bound() > enough; ++turn) {
    if (turn == kMostTurns || !copy_at_peak(graph, ValueIndex(graph), plan, copied)) return all_copied;
    plan = make(parts);
  }
  return plan;
}

}  // namespace loomix
