// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/fuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "ops/fused/fused.h"

namespace loomix {
namespace {

// What a node reads of others, and the shape by which that spreads over the results. A value may be seen in several ways.
struct Operand {
  ValueRef value;
  Shape seen;
  friend bool operator==(const Operand& a, const Operand& b) {
    return a.value == b.value && a.seen == b.seen;
  }
};

// Nodes that become one. Nodes of which the one and only is a group by itself stay as they are.
struct Group {
  std::vector<NodeId> nodes;  // ascending; reductions, which close the pass, among them
  int64_t row_size = 0;       // of inputs that are rows or columns
};

class Fuser {
 public:
  Fuser(const Graph& graph, const ops::OpTable& table, const Inference& known)
      : graph_(graph),
        table_(table),
        fused_(ops::fused_op(table)),
        known_(known),
        index_(graph),
        group_of_(static_cast<size_t>(graph.size()), -1),
        roles_(static_cast<size_t>(graph.size())),
        readers_(static_cast<size_t>(graph.size())),
        shape_readers_(static_cast<size_t>(graph.size())),
        is_output_(static_cast<size_t>(graph.size()), false),
        mutated_(mutated_variables(graph)),
        others_before_(static_cast<size_t>(graph.size()) + 1, 0) {
    for (NodeId id = 0; id < graph.size(); ++id) {
      take_role(id);
      const auto inputs = graph.inputs(id);
      for (size_t i = 0; i < inputs.size(); ++i)
        (i > 0 && roles_[at(id)] ? shape_readers_ : readers_)[at(inputs[i].node)].push_back(id);
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

  FusionLog log() const {
    FusionLog made;
    for (const Group& group : groups_) {
      if (group.nodes.size() < 2) continue;
      const NodeId first = group.nodes.front();
      std::string names;
      for (const NodeId node : group.nodes)
        names +=
            fmt::format("{}{} ({})", names.empty() ? "" : " + ", graph_.name_of(node), graph_.op_name(node));
      made.fused.push_back(fmt::format("{} {}, {} in, {} out: {}", pass_shape(first).to_string(),
                                       name_of(dtype({first, 0})), inputs_of(group).size(),
                                       outputs_of(group).size(), names));
    }
    for (const Refusal& refusal : refusals_) {
      FusionLog::Apart apart{
          graph_.name_of(refusal.node), std::string(graph_.op_name(refusal.node)), {}, {}, refusal.reason};
      if (refusal.input >= 0) {
        // Joined by way of another input.
        if (group_of_[at(refusal.node)] == group_of_[at(refusal.input)]) continue;
        apart.input = graph_.name_of(refusal.input);
        apart.input_op = graph_.op_name(refusal.input);
      }
      made.apart.push_back(std::move(apart));
    }
    return made;
  }

 private:
  // What a node is beside an elementwise operator. It then uses the elements of its first input only.
  struct Role {
    std::optional<ops::Folding> folding;
    std::optional<ops::Repeat> repeat;
    explicit operator bool() const { return folding || repeat; }
  };

  static size_t at(NodeId id) { return static_cast<size_t>(id); }
  const Shape& shape(ValueRef value) const { return known_.shapes[static_cast<size_t>(index_[value])]; }
  DType dtype(ValueRef value) const { return known_.dtypes[static_cast<size_t>(index_[value])]; }
  bool is_backward(NodeId id) const { return first_backward_ >= 0 && id >= first_backward_; }

  // Two-operand operators broadcast; others may mean something else by arrays of another shape.
  static bool may_spread(const ops::OpDef& op) { return op.inputs.size() == 2 && !op.is_variadic(); }

  // Steps of a group: an operator, a repetition or one that also divides; reductions close the group.
  size_t steps_in(const Group& group) const {
    size_t steps = 0;
    for (const NodeId node : group.nodes) {
      if (roles_[at(node)].folding) continue;
      steps += roles_[at(node)].repeat && roles_[at(node)].repeat->divisor > 1 ? 2 : 1;
    }
    return steps;
  }

  // The shape of the pass over memory that a node is part of.
  const Shape& pass_shape(NodeId id) const {
    return roles_[at(id)].folding ? shape(graph_.inputs(id)[0]) : shape({id, 0});
  }
  std::vector<Operand> operands_of(NodeId id) const {
    const Role& role = roles_[at(id)];
    const auto inputs = graph_.inputs(id);
    if (role.repeat) return {{inputs[0], role.repeat->seen}};
    if (role.folding) return {{inputs[0], shape(inputs[0])}};
    std::vector<Operand> operands;
    for (const ValueRef& input : inputs) operands.push_back({input, shape(input)});
    return operands;
  }

  void take_role(NodeId id) {
    const Node& node = graph_[id];
    if (!node.op || node.op->elementwise || graph_.inputs(id).empty()) return;
    const Shape& in = shape(graph_.inputs(id)[0]);
    Role& role = roles_[at(id)];
    role.folding = ops::folding_of(*node.op, *node.attrs, in, shape({id, 0}));
    if (!role.folding) role.repeat = ops::repeat_of(*node.op, *node.attrs, in, shape({id, 0}));
  }

  bool is_pass_operator(NodeId id) const {
    const Node& node = graph_[id];
    if (!node.op || node.num_values() != 1 || node.held || graph_.inputs(id).empty()) return false;
    if (roles_[at(id)]) return true;
    return node.op->elementwise && graph_.inputs(id).size() <= ops::kMostFusedOperands &&
           node.op->shape_only.empty();
  }

  // Whether a node can be part of a group, and the length of the rows that it takes apart (0: none). Sets `reason` where an
  // operator's arrays are why it cannot.
  std::optional<int64_t> fusible(NodeId id, const char*& reason) const {
    if (!is_pass_operator(id)) return {};
    const Node& node = graph_[id];
    const Role& role = roles_[at(id)];
    const Shape& result = pass_shape(id);
    if (result.size() == 0) return {};
    const std::vector<Operand> operands = operands_of(id);
    int64_t row_size = 0;
    for (const Operand& operand : operands) {
      const Node& from = graph_[operand.value.node];
      reason = "it reads a state, or what may be sparse";
      if (mutated_[at(operand.value.node)] || (from.op && may_be_sparse(*from.op))) return {};
      reason = "an input does not spread over the result";
      const auto rows = ops::row_size_of(operand.seen, result);
      if (!rows || (!role.repeat && !may_spread(*node.op) && !(operand.seen == result))) return {};
      row_size = shorter_rows(row_size, *rows);
    }
    row_size = cut_rows(result, row_size);
    reason = "its rows are too long or too short";
    if (!has_good_rows(operands, result, row_size)) return {};
    reason = "it keeps too many elements apart";
    if (role.folding && ops::fused_sums(*role.folding, result) > ops::kMostFusedSums) return {};
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

  static bool has_good_rows(std::span<const Operand> operands, const Shape& result, int64_t row_size) {
    if (row_size == 0) return true;
    if (row_size > ops::kLongestFusedRow) return false;
    return row_size >= ops::kShortestGatheredRow ||
           std::ranges::none_of(operands, [&](const Operand& operand) {
             return ops::spread_over(operand.seen, result, row_size).is_gathered();
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
    for (const auto& [input, seen] : operands_of(id)) {
      const int before = group_of_[at(input.node)];
      if (before < 0 || before == own || is_backward(input.node) != is_backward(id)) continue;
      const char* reason = nullptr;
      std::optional<Group> merged;
      if (roles_[at(input.node)].folding) reason = "a reduction has its result when its pass ends";
      else if (!(pass_shape(input.node) == pass_shape(id))) reason = "their results have different shapes";
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
    if (steps_in(merged) > ops::kMostFusedSteps) return {};
    const NodeId place = merged.nodes.back();
    reason = "the rows that they take apart are too long or too short together";
    if (!has_good_rows(inputs_of(merged), pass_shape(place), merged.row_size)) return {};
    reason = "something else reads the result before";
    for (const NodeId node : before.nodes) {
      for (const NodeId reader : readers_[at(node)]) {
        if (reader < place && !contains(merged, reader)) return {};
      }
    }
    reason = "a reduction has its result when its pass ends";
    for (const NodeId node : merged.nodes) {
      if (roles_[at(node)].folding &&
          std::ranges::any_of(readers_[at(node)], [&](NodeId reader) { return contains(merged, reader); }))
        return {};
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
    for (const Operand& input : inputs_of(early)) {
      const NodeId from = input.value.node;
      if (graph_[from].is_variable() || is_output_[at(from)] || input.seen.size() == 1) continue;
      if (std::ranges::none_of(readers_[at(from)], [&](NodeId reader) { return reader >= place; })) ++kept;
    }
    return kept > outputs_of(early).size();
  }

  std::vector<Operand> inputs_of(const Group& group) const {
    std::vector<Operand> inputs;
    for (const NodeId node : group.nodes) {
      for (const Operand& operand : operands_of(node)) {
        if (!contains(group, operand.value.node) && std::ranges::find(inputs, operand) == inputs.end())
          inputs.push_back(operand);
      }
    }
    return inputs;
  }

  // Results of steps, then of reductions.
  std::vector<NodeId> outputs_of(const Group& group) const {
    std::vector<NodeId> outputs;
    const auto is_alone = [&](NodeId reader) {
      const int number = group_of_[at(reader)];
      return number < 0 || groups_[static_cast<size_t>(number)].nodes.size() == 1;
    };
    std::ranges::copy_if(group.nodes, std::back_inserter(outputs), [&](NodeId node) {
      return is_output_[at(node)] ||
             std::ranges::any_of(readers_[at(node)],
                                 [&](NodeId reader) { return !contains(group, reader); }) ||
             std::ranges::any_of(shape_readers_[at(node)], is_alone);
    });
    std::ranges::stable_partition(outputs, [&](NodeId node) { return !roles_[at(node)].folding; });
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
      const std::vector<Operand> inputs = inputs_of(group);
      std::vector<ValueRef> read;
      for (const Operand& input : inputs) read.push_back(input.value);
      const auto of_gradient =
          std::ranges::find_if(group.nodes, [&](NodeId node) { return graph_[node].forward >= 0; });
      const NodeId forward = of_gradient == group.nodes.end() ? -1 : graph_[*of_gradient].forward;
      const NodeId made = result.add_op(fused_, fusion(group, inputs, outputs), all_moved(read),
                                        forward < 0 ? joined_info(group) : Ref<const NodeInfo>(),
                                        forward < 0 ? -1 : new_id[at(forward)]);
      for (const NodeId node : group.nodes) new_id[at(node)] = made;
      for (size_t i = 0; i < outputs.size(); ++i)
        moved[static_cast<size_t>(index_(outputs[i], 0))] = {made, static_cast<int>(i)};
    }
    result.outputs = all_moved(graph_.outputs);
    return result;
  }

  Ref<const AttrsBase> fusion(const Group& group, const std::vector<Operand>& inputs,
                              const std::vector<NodeId>& outputs) const {
    const Shape& result = pass_shape(group.nodes.front());
    std::vector<ops::FusedInput> spread;
    for (const Operand& input : inputs)
      spread.push_back(ops::spread_over(input.seen, result, group.row_size));
    std::vector<ops::FusedStep> steps;
    std::map<NodeId, int> step_of;
    for (const NodeId node : group.nodes) {
      const Role& role = roles_[at(node)];
      if (role.folding) continue;
      ops::FusedStep step{graph_[node].op, graph_[node].attrs, {}, dtype({node, 0})};
      for (const Operand& operand : operands_of(node)) {
        const auto given = std::ranges::find(inputs, operand) - inputs.begin();
        const auto own = step_of.find(operand.value.node);
        step.operands.push_back(own != step_of.end() ? static_cast<int>(inputs.size()) + own->second
                                                     : static_cast<int>(given));
      }
      if (role.repeat)
        ops::add_repeat(table_, *role.repeat, step.operands[0], step.dtype, static_cast<int>(inputs.size()),
                        steps);
      else steps.push_back(std::move(step));
      step_of[node] = static_cast<int>(steps.size()) - 1;
    }
    std::vector<int> results;
    std::vector<ops::FusedClosing> closings;
    for (const NodeId node : outputs) {
      if (const auto& folding = roles_[at(node)].folding) {
        const int step = step_of.at(graph_.inputs(node)[0].node);
        closings.push_back({graph_[node].op, *folding, step, shape({node, 0}), dtype({node, 0})});
      } else {
        results.push_back(step_of.at(node));
      }
    }
    ops::FusedParams params;
    params.num_args = static_cast<int>(inputs.size());
    params.fusion = make_ref<ops::Fusion>(result, group.row_size, std::move(spread), std::move(steps),
                                          std::move(results), std::move(closings));
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
  const ops::OpTable& table_;
  const ops::OpDef& fused_;
  const Inference& known_;
  const ValueIndex index_;
  std::vector<Group> groups_;
  std::vector<Refusal> refusals_;
  std::vector<int> group_of_;  // one a node; -1: none
  std::vector<Role> roles_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<std::vector<NodeId>> shape_readers_;  // with a role, which needs no more than shapes in a group
  std::vector<char> is_output_;
  const std::vector<char> mutated_;
  std::vector<int> others_before_;  // nodes before each that can be in no group
  NodeId first_backward_ = -1;
};

}  // namespace

std::string to_text(const FusionLog& log) {
  std::string text;
  for (const std::string& pass : log.fused) text += "  one pass over " + pass + '\n';
  for (const FusionLog::Apart& apart : log.apart) {
    const std::string before =
        apart.input.empty() ? "" : fmt::format("{} ({}) and ", apart.input, apart.input_op);
    text += fmt::format("  apart: {}{} ({}): {}\n", before, apart.name, apart.op, apart.reason);
  }
  return text;
}

Graph fuse(const Graph& graph, const ops::OpTable& table, const Inference& known, FusionLog* log) {
  Fuser fuser(graph, table, known);
  Graph fused = fuser.run();
  if (log != nullptr) *log = fuser.log();
  return fused;
}

}  // namespace loomix
