// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/fuse.h"

#include <algorithm>
#include <optional>
#include <string>

#include "ops/fused/fused.h"

namespace loomix {
namespace {

// Nodes that become one. Nodes of which the one and only is a group by itself stay as they are.
struct Group {
  std::vector<NodeId> nodes;  // ascending
  int64_t row_size = 0;       // of inputs that are rows or columns
};

class Fuser {
 public:
  Fuser(const Graph& graph, const ops::OpTable& table, const Inference& known)
      : graph_(graph),
        fused_(ops::fused_op(table)),
        known_(known),
        index_(graph),
        group_of_(static_cast<size_t>(graph.size()), -1),
        readers_(static_cast<size_t>(graph.size())),
        is_output_(static_cast<size_t>(graph.size()), false),
        mutated_(mutated_variables(graph)),
        others_before_(static_cast<size_t>(graph.size()) + 1, 0) {
    for (NodeId id = 0; id < graph.size(); ++id) {
      for (const ValueRef& input : graph.inputs(id)) readers_[at(input.node)].push_back(id);
      if (graph[id].forward >= 0 && first_backward_ < 0) first_backward_ = id;
    }
    for (const ValueRef& output : graph.outputs) is_output_[at(output.node)] = true;
  }

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const char* reason = nullptr;
      const std::optional<int64_t> row_size = fusible(id, reason);
      if (reason != nullptr) refusals_.push_back({id, -1, reason});
      others_before_[at(id) + 1] = others_before_[at(id)] + (row_size || graph_[id].is_variable() ? 0 : 1);
      if (row_size) join(id, *row_size);
    }
    return rebuilt();
  }

  std::string explanation() const {
    std::string text;
    for (const Group& group : groups_) {
      if (group.nodes.size() < 2) continue;
      const NodeId last = group.nodes.back();
      std::string names;
      for (const NodeId node : group.nodes)
        names += fmt::format("{}{}", names.empty() ? "" : " + ", described(node));
      text +=
          fmt::format("  one pass over {} {}, {} in, {} out: {}\n", shape({last, 0}).to_string(),
                      name_of(dtype({last, 0})), inputs_of(group).size(), outputs_of(group).size(), names);
    }
    for (const Refusal& refusal : refusals_) {
      if (refusal.input < 0) {
        text += fmt::format("  apart: {}: {}\n", described(refusal.node), refusal.reason);
      } else if (group_of_[at(refusal.node)] !=
                 group_of_[at(refusal.input)]) {  // not joined by way of another input
        text += fmt::format("  apart: {} and {}: {}\n", described(refusal.input), described(refusal.node),
                            refusal.reason);
      }
    }
    return text;
  }

 private:
  std::string described(NodeId id) const {
    return fmt::format("{} ({})", graph_.name_of(id), graph_.op_name(id));
  }
  static size_t at(NodeId id) { return static_cast<size_t>(id); }
  const Shape& shape(ValueRef value) const { return known_.shapes[static_cast<size_t>(index_[value])]; }
  DType dtype(ValueRef value) const { return known_.dtypes[static_cast<size_t>(index_[value])]; }
  bool is_backward(NodeId id) const { return first_backward_ >= 0 && id >= first_backward_; }

  // Two-operand operators broadcast; others may mean something else by arrays of another shape.
  static bool may_spread(const ops::OpDef& op) { return op.inputs.size() == 2 && !op.is_variadic(); }

  // Whether a node can be part of a group, and the length of the rows that it takes apart (0: none). Sets `reason` where an
  // elementwise operator's arrays are why it cannot.
  std::optional<int64_t> fusible(NodeId id, const char*& reason) const {
    const Node& node = graph_[id];
    if (!node.op || !node.op->elementwise || node.num_values() != 1 || node.held) return {};
    const auto inputs = graph_.inputs(id);
    if (inputs.empty() || inputs.size() > ops::kMostFusedOperands || !node.op->shape_only.empty()) return {};
    const Shape& result = shape({id, 0});
    if (result.size() == 0) return {};
    int64_t row_size = 0;
    for (const ValueRef& input : inputs) {
      const Node& from = graph_[input.node];
      reason = "it reads a state, or what may be sparse";
      if (mutated_[at(input.node)] || (from.op && may_be_sparse(*from.op))) return {};
      reason = "an input does not spread over the result";
      const auto rows = ops::row_size_of(shape(input), result);
      if (!rows || (!may_spread(*node.op) && !(shape(input) == result))) return {};
      row_size = shorter_rows(row_size, *rows);
    }
    row_size = cut_rows(result, row_size);
    reason = "its rows are too long or too short";
    if (!has_good_rows(inputs, result, row_size)) return {};
    reason = nullptr;
    return row_size;
  }

  static int64_t shorter_rows(int64_t a, int64_t b) { return a == 0 || b == 0 ? a + b : std::min(a, b); }

  // Rows that are not too long, if some of the last axes make them.
  static int64_t cut_rows(const Shape& result, int64_t row_size) {
    if (row_size <= ops::kLongestFusedRow) return row_size;
    int64_t shorter = 1;
    for (int axis = result.ndim() - 1; axis >= 0 && shorter * result[axis] <= ops::kLongestFusedRow; --axis)
      shorter *= result[axis];
    return shorter > 1 ? shorter : row_size;
  }

  bool has_good_rows(std::span<const ValueRef> inputs, const Shape& result, int64_t row_size) const {
    if (row_size == 0) return true;
    if (row_size > ops::kLongestFusedRow) return false;
    return row_size >= ops::kShortestGatheredRow || std::ranges::none_of(inputs, [&](ValueRef input) {
             return ops::spread_over(shape(input), result, row_size).is_gathered();
           });
  }

  // Of dense arrays, too: kernels for sparse results come first only where that is what the operator makes.
  static bool may_be_sparse(const ops::OpDef& op) { return !op.kernels.empty() && op.kernels.front().sparse; }

  // A node and what it reads that did not become one.
  struct Refusal {
    NodeId node, input;  // input -1: the node can be with no others
    const char* reason;
  };

  // Puts the node into a group with all the groups before it that it can be with.
  void join(NodeId id, int64_t row_size) {
    const auto own = static_cast<int>(groups_.size());
    groups_.push_back({{id}, row_size});
    group_of_[at(id)] = own;
    for (const ValueRef& input : graph_.inputs(id)) {
      const int before = group_of_[at(input.node)];
      if (before < 0 || before == own || is_backward(input.node) != is_backward(id)) continue;
      const char* reason = nullptr;
      std::optional<Group> merged;
      if (!(shape(input) == shape({id, 0}))) reason = "their results have different shapes";
      else merged = merge(groups_[at(before)], groups_[at(own)], reason);
      if (reason != nullptr) refusals_.push_back({id, input.node, reason});
      if (merged) {
        groups_[at(own)] = *merged;
        groups_[at(before)].nodes.clear();
        for (const NodeId node : merged->nodes) group_of_[at(node)] = own;
      }
    }
  }

  // Sets `reason` where there is no merged group.
  std::optional<Group> merge(const Group& before, const Group& later, const char*& reason) const {
    Group merged{before.nodes, shorter_rows(before.row_size, later.row_size)};
    merged.nodes.insert(merged.nodes.end(), later.nodes.begin(), later.nodes.end());
    std::ranges::sort(merged.nodes);
    reason = "there would be too many operators in one";
    if (merged.nodes.size() > ops::kMostFusedSteps) return {};
    const NodeId place = merged.nodes.back();
    reason = "the rows that they take apart are too long or too short together";
    if (!has_good_rows(inputs_of(merged), shape({place, 0}), merged.row_size)) return {};
    reason = "something else reads the result before";
    for (const NodeId node : before.nodes) {
      for (const NodeId reader : readers_[at(node)]) {
        if (reader < place && !contains(merged, reader)) return {};
      }
    }
    reason = "more arrays would have to be kept";
    if (keeps_more_alive(before, place)) return {};
    reason = "there would be too many inputs or outputs";
    if (inputs_of(merged).size() > ops::kMostFusedInputs ||
        outputs_of(merged).size() > ops::kMostFusedOutputs)
      return {};
    reason = nullptr;
    return merged;
  }

  static bool contains(const Group& group, NodeId id) { return std::ranges::binary_search(group.nodes, id); }

  // Whether the early group's inputs, more than its results, would be kept while other operators run.
  bool keeps_more_alive(const Group& early, NodeId place) const {
    if (others_before_[at(place)] == others_before_[at(early.nodes.back())]) return false;
    size_t kept = 0;
    for (const ValueRef& input : inputs_of(early)) {
      const Node& from = graph_[input.node];
      if (from.is_variable() || is_output_[at(input.node)] || shape(input).size() == 1) continue;
      if (std::ranges::none_of(readers_[at(input.node)], [&](NodeId reader) { return reader >= place; }))
        ++kept;
    }
    return kept > outputs_of(early).size();
  }

  std::vector<ValueRef> inputs_of(const Group& group) const {
    std::vector<ValueRef> inputs;
    for (const NodeId node : group.nodes) {
      for (const ValueRef& input : graph_.inputs(node)) {
        if (!contains(group, input.node) && std::ranges::find(inputs, input) == inputs.end())
          inputs.push_back(input);
      }
    }
    return inputs;
  }

  std::vector<NodeId> outputs_of(const Group& group) const {
    std::vector<NodeId> outputs;
    std::ranges::copy_if(group.nodes, std::back_inserter(outputs), [&](NodeId node) {
      return is_output_[at(node)] ||
             std::ranges::any_of(readers_[at(node)], [&](NodeId reader) { return !contains(group, reader); });
    });
    return outputs;
  }

  Graph rebuilt() {
    Graph result;
    result.reserve(graph_.size());
    std::vector<ValueRef> moved(static_cast<size_t>(index_.size()));
    std::vector<NodeId> new_id(static_cast<size_t>(graph_.size()), -1);
    const auto all_moved = [&](std::span<const ValueRef> values) {
      std::vector<ValueRef> now;
      for (const ValueRef& value : values) now.push_back(moved[static_cast<size_t>(index_[value])]);
      return now;
    };
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const int number = group_of_[at(id)];
      if (number < 0 || groups_[at(number)].nodes.size() == 1) {
        const NodeId made = new_id[at(id)] = result.add_copy(graph_[id], all_moved(graph_.inputs(id)));
        if (graph_[id].forward >= 0) result[made].forward = new_id[at(graph_[id].forward)];
        for (int i = 0; i < graph_[id].num_values(); ++i)
          moved[static_cast<size_t>(index_(id, i))] = {made, i};
        continue;
      }
      const Group& group = groups_[at(number)];
      if (group.nodes.back() != id) continue;
      const std::vector<NodeId> outputs = outputs_of(group);
      const std::vector<ValueRef> inputs = inputs_of(group);
      const auto of_gradient =
          std::ranges::find_if(group.nodes, [&](NodeId node) { return graph_[node].forward >= 0; });
      const NodeId forward = of_gradient == group.nodes.end() ? -1 : graph_[*of_gradient].forward;
      const NodeId made = result.add_op(fused_, fusion(group, inputs, outputs), all_moved(inputs),
                                        forward < 0 ? joined_info(group) : Ref<const NodeInfo>(),
                                        forward < 0 ? -1 : new_id[at(forward)]);
      for (const NodeId node : group.nodes) new_id[at(node)] = made;
      for (size_t i = 0; i < outputs.size(); ++i)
        moved[static_cast<size_t>(index_(outputs[i], 0))] = {made, static_cast<int>(i)};
    }
    result.outputs = all_moved(graph_.outputs);
    return result;
  }

  Ref<const AttrsBase> fusion(const Group& group, const std::vector<ValueRef>& inputs,
                              const std::vector<NodeId>& outputs) const {
    const Shape& result = shape({group.nodes.front(), 0});
    std::vector<ops::FusedInput> spread;
    for (const ValueRef& input : inputs)
      spread.push_back(ops::spread_over(shape(input), result, group.row_size));
    const auto step_of = [&](NodeId node) {
      return static_cast<int>(std::ranges::lower_bound(group.nodes, node) - group.nodes.begin());
    };
    std::vector<ops::FusedStep> steps;
    for (const NodeId node : group.nodes) {
      ops::FusedStep step{graph_[node].op, graph_[node].attrs, {}, dtype({node, 0})};
      for (const ValueRef& input : graph_.inputs(node)) {
        const auto given = std::ranges::find(inputs, input) - inputs.begin();
        step.operands.push_back(contains(group, input.node)
                                    ? static_cast<int>(inputs.size()) + step_of(input.node)
                                    : static_cast<int>(given));
      }
      steps.push_back(std::move(step));
    }
    std::vector<int> results;
    for (const NodeId node : outputs) results.push_back(step_of(node));
    ops::FusedParams params;
    params.num_args = static_cast<int>(inputs.size());
    params.fusion = make_ref<ops::Fusion>(result, group.row_size, std::move(spread), std::move(steps),
                                          std::move(results));
    return make_attrs(std::move(params));
  }

  // For messages: "relu0 + add1", and how many there are beyond the first.
  Ref<const NodeInfo> joined_info(const Group& group) const {
    constexpr size_t kNamed = 3;
    auto info = make_ref<NodeInfo>();
    for (size_t i = 0; i < std::min(kNamed, group.nodes.size()); ++i)
      info->name += (i == 0 ? "" : " + ") + graph_.name_of(group.nodes[i]);
    if (group.nodes.size() > kNamed)
      info->name += " + " + std::to_string(group.nodes.size() - kNamed) + " more";
    return info;
  }

  const Graph& graph_;
  const ops::OpDef& fused_;
  const Inference& known_;
  const ValueIndex index_;
  std::vector<Group> groups_;
  std::vector<Refusal> refusals_;
  std::vector<int> group_of_;  // one a node; -1: none
  std::vector<std::vector<NodeId>> readers_;
  std::vector<char> is_output_;
  const std::vector<char> mutated_;
  std::vector<int> others_before_;  // nodes before each that can be in no group
  NodeId first_backward_ = -1;
};

}  // namespace

Graph fuse(const Graph& graph, const ops::OpTable& table, const Inference& known, std::string* explanation) {
  Fuser fuser(graph, table, known);
  Graph fused = fuser.run();
  if (explanation != nullptr) *explanation += fuser.explanation();
  return fused;
}

}  // namespace loomix
