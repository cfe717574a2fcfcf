// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/recompute.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"

namespace loomix {
namespace {

constexpr int kMostSteps = 4;  // to make one value

// One operator that makes output 0 of a node again.
struct Step {
  NodeId node;
  const ops::OpDef* op;
  std::vector<ValueRef> inputs;
};

// How to make a value: the last step gives it.
struct Recipe {
  NodeId node = -1;
  std::vector<Step> steps;
  NodeId first_reader = -1;  // among the gradients
  int64_t bytes = 0;
  double cost_ns = 0;
};

class Recomputer {
 public:
  Recomputer(const Graph& graph, const Inference& known, const RecomputeRequest& request)
      : graph_(graph), known_(known), request_(request), index_(graph), uses_(index_.size()) {
    for (NodeId id = 0; id < graph.size(); ++id) {
      const auto inputs = graph.inputs(id);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (graph[id].op->is_shape_only(*graph[id].attrs, static_cast<int>(i))) continue;
        Uses& uses = uses_[index_[inputs[i]]];
        if (graph[id].forward < 0) uses.last_forward = id;
        else if (uses.first_backward < 0) uses.first_backward = id;
        uses.last = id;
      }
    }
    for (const ValueRef& output : graph.outputs) uses_[index_[output]].is_output = true;
  }

  Graph run() {
    choose();
    return chosen_.empty() ? graph_ : rebuilt();
  }

 private:
  struct Uses {
    NodeId last_forward = -1, first_backward = -1, last = -1;
    bool is_output = false;
    bool is_made_again = false;
    bool is_source = false;  // of a recipe, so it must be kept
  };
  Uses& uses(ValueRef value) { return uses_[index_[value]]; }
  const Uses& uses(ValueRef value) const { return uses_[index_[value]]; }
  TensorView view(ValueRef value) const {
    return {nullptr, known_.dtypes[index_[value]], known_.shapes[index_[value]]};
  }

  double cost_ns(const ops::OpDef& op, const AttrsBase& attrs, std::span<const ValueRef> inputs, NodeId node,
                 int num_outputs) const {
    std::vector<TensorView> views;
    for (const ValueRef& input : inputs) views.push_back(view(input));
    for (int i = 0; i < num_outputs; ++i) views.push_back(view({node, i}));
    const std::vector<ops::Req> req(static_cast<size_t>(num_outputs), ops::Req::write);
    const std::span<const TensorView> all(views);
    return request_.device.time_ns(
        op.estimate_ns(attrs, {all.first(inputs.size()), all.subspan(inputs.size()), req, true}));
  }

  ValueRef operand(NodeId id, const ops::GradOperand& operand) const {
    if (operand.value == &ops::GradBuilder::in) return graph_.inputs(id)[static_cast<size_t>(operand.i)];
    if (operand.value == &ops::GradBuilder::out) return {id, operand.i};
    LOOMIX_INTERNAL_CHECK(operand.value == &ops::GradBuilder::saved);
    return graph_.saved(id, operand.i);
  }

  // Is there when `reader` runs, without being kept for it.
  bool is_there(ValueRef value, NodeId reader) const {
    const Uses& used = uses(value);
    return graph_[value.node].is_variable() || used.is_output || (used.last >= reader && !used.is_made_again);
  }

  bool add_steps(NodeId id, Recipe& recipe) const {
    const Node& node = graph_[id];
    if (!node.op || recipe.steps.size() >= kMostSteps) return false;
    Step step{id, node.op, {}};
    if (node.op->again) {
      step.op = &request_.table.at(node.op->again->op);
      for (const ops::GradOperand& o : node.op->again->operands) {
        if (!o.optional || o.i < static_cast<int>(node.num_inputs)) step.inputs.push_back(operand(id, o));
      }
    } else if (node.op->is_repeatable() && node.num_values() == 1) {
      step.inputs.assign(graph_.inputs(id).begin(), graph_.inputs(id).end());
    } else {
      return false;
    }
    for (const ValueRef& input : step.inputs) {
      const bool is_made = std::ranges::any_of(recipe.steps, [&](const Step& earlier) {
        return input == ValueRef{earlier.node, 0};
      });
      if (is_made || is_there(input, recipe.first_reader)) continue;
      if (input.index != 0 || !add_steps(input.node, recipe)) return false;
    }
    recipe.cost_ns += cost_ns(*step.op, *node.attrs, step.inputs, id, step.op->count_outputs(*node.attrs));
    recipe.steps.push_back(std::move(step));
    return true;
  }

  // For output 0 of a node of the forward pass, if it is kept across the peak.
  std::optional<Recipe> recipe_for(NodeId id) const {
    const Uses& used = uses({id, 0});
    if (graph_[id].forward >= 0 || used.is_output || used.is_source || used.first_backward < 0) return {};
    if (used.last_forward >= request_.peak || used.first_backward <= request_.peak) return {};
    Recipe recipe;
    recipe.node = id;
    recipe.first_reader = used.first_backward;
    const TensorView value = view({id, 0});
    recipe.bytes = value.bytes();
    if (!add_steps(id, recipe)) return {};
    return recipe;
  }

  void choose() {
    double total_ns = 0;
    std::vector<Recipe> candidates;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      if (!node.op) continue;
      total_ns += cost_ns(*node.op, *node.attrs, graph_.inputs(id), id, node.num_outputs);
      if (auto recipe = recipe_for(id)) candidates.push_back(std::move(*recipe));
    }
    std::ranges::stable_sort(candidates, [](const Recipe& a, const Recipe& b) {
      return static_cast<double>(a.bytes) * b.cost_ns > static_cast<double>(b.bytes) * a.cost_ns;
    });
    double left_ns = request_.share * total_ns;
    for (const Recipe& candidate : candidates) {
      const auto recipe = recipe_for(candidate.node);  // what was chosen since may have changed it
      if (!recipe || recipe->cost_ns > left_ns) continue;
      left_ns -= recipe->cost_ns;
      uses({recipe->node, 0}).is_made_again = true;
      for (const Step& step : recipe->steps) {
        for (const ValueRef& input : step.inputs) uses(input).is_source = true;
      }
      chosen_.emplace(recipe->first_reader, *recipe);
    }
  }

  Graph rebuilt() const {
    Graph result;
    result.reserve(graph_.size());
    std::vector<NodeId> new_id(static_cast<size_t>(graph_.size()), -1);
    std::map<NodeId, NodeId> made;  // in place of output 0 of a node, for gradients
    std::vector<ValueRef> inputs;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const NodeId forward = graph_[id].forward;
      for (auto [at, end] = chosen_.equal_range(id); at != end; ++at) {
        std::map<NodeId, NodeId> own;
        for (const Step& step : at->second.steps) {
          inputs.clear();
          for (const ValueRef& input : step.inputs) {
            const auto earlier = input.index == 0 ? own.find(input.node) : own.end();
            inputs.push_back(earlier != own.end() ? ValueRef{earlier->second, 0}
                                                  : ValueRef{new_id[input.node], input.index});
          }
          own[step.node] = result.add_op(*step.op, graph_[step.node].attrs, inputs, graph_[step.node].info,
                                         new_id[forward]);
        }
        made[at->second.node] = own.at(at->second.node);
      }
      inputs.clear();
      for (const ValueRef& input : graph_.inputs(id)) {
        const auto again = forward >= 0 && input.index == 0 ? made.find(input.node) : made.end();
        inputs.push_back(again != made.end() ? ValueRef{again->second, 0}
                                             : ValueRef{new_id[input.node], input.index});
      }
      new_id[id] = result.add_copy(graph_[id], inputs);
      if (forward >= 0) result[new_id[id]].forward = new_id[forward];
    }
    for (const ValueRef& output : graph_.outputs)
      result.outputs.push_back({new_id[output.node], output.index});
    return result;
  }

  const Graph& graph_;
  const Inference& known_;
  const RecomputeRequest& request_;
  const ValueIndex index_;
  std::vector<Uses> uses_;                // one a value
  std::multimap<NodeId, Recipe> chosen_;  // by first reader
};

}  // namespace

Graph recompute(const Graph& graph, const Inference& known, const RecomputeRequest& request) {
  return Recomputer(graph, known, request).run();
}

}  // namespace loomix
