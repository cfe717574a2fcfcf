// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/dynamic_graph.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "symbol/symbol_node.h"

namespace loomix {

bool DynamicGraph::is_needed(const Symbol& symbol) {
  return std::ranges::any_of(depth_first(symbol.outputs()),
                             [](const SymbolNode* node) { return node->op && node->op->data_dependent; });
}

// Cuts the symbol in two.
class DynamicGraph::Builder {
 public:
  Builder(DynamicGraph& graph, const Symbol& symbol, bool all) : graph_(graph), all_(all) {
    const auto names = symbol.list_inputs();
    for (size_t i = 0; i < names.size(); ++i) {
      LOOMIX_CHECK(inputs_.emplace(names[i], i).second, ValueError,
                   "[Symbol.bind] two inputs are called '{}'; a symbol in which shapes depend on data needs "
                   "different names.",
                   names[i]);
    }
  }

  void run(const Symbol& symbol, const std::string& name, const PlanOptions& plan) {
    for (SymbolNode* node : depth_first(symbol.outputs())) {
      if (!node->op || !is_late(*node)) continue;
      Step step{node->op, node->attrs, node->name, {}};
      if (node->op->instantiate) step.attrs = node->op->instantiate(*node->attrs);
      for (const SymbolOutput& input : node->inputs) step.inputs.push_back(value(input));
      steps_.emplace(node, graph_.steps_.size());
      graph_.steps_.push_back(std::move(step));
    }
    for (const SymbolOutput& output : symbol.outputs()) graph_.outputs_.push_back(value(output));
    if (before_.empty()) return;
    const Symbol before(before_);
    graph_.before_ = CachedGraph::make(graph_.runtime_, before, name, plan);
    for (const std::string& input : before.list_inputs()) graph_.before_inputs_.push_back(inputs_.at(input));
  }

 private:
  bool is_late(const SymbolNode& node) const {
    return all_ || node.op->data_dependent ||
           std::ranges::any_of(node.inputs,
                               [&](const SymbolOutput& input) { return steps_.contains(input.node.get()); });
  }
  Value value(const SymbolOutput& output) {
    const SymbolNode& node = *output.node;
    if (node.is_variable()) return {Value::From::input, inputs_.at(node.name)};
    if (const auto late = steps_.find(&node); late != steps_.end())
      return {Value::From::step, late->second, static_cast<size_t>(output.index)};
    const auto [known, is_new] = places_.emplace(std::pair(&node, output.index), before_.size());
    if (is_new) before_.push_back(output);
    return {Value::From::before, known->second};
  }

  DynamicGraph& graph_;
  const bool all_;
  std::map<std::string, size_t> inputs_;
  std::unordered_map<const SymbolNode*, size_t> steps_;
  std::map<std::pair<const SymbolNode*, int>, size_t> places_;  // in before_
  std::vector<SymbolOutput> before_;
};

DynamicGraph::DynamicGraph(Runtime& runtime, const Symbol& symbol, std::string name, const PlanOptions& plan,
                           bool all)
    : runtime_(runtime), inputs_(symbol.list_inputs()) {
  Builder(*this, symbol, all).run(symbol, name, plan);
}

std::vector<NDArray> DynamicGraph::call(std::span<const NDArray> inputs) {
  std::vector<NDArray> before;
  if (before_) {
    std::vector<NDArray> own;
    for (const size_t place : before_inputs_) own.push_back(inputs[place]);
    before = before_->call(own);
  }
  std::vector<NDArrays> results;
  const auto array = [&](const Value& value) -> const NDArray& {
    if (value.from == Value::From::input) return inputs[value.at];
    return value.from == Value::From::before ? before[value.at] : results[value.at][value.index];
  };
  for (const Step& step : steps_) {
    std::vector<const NDArray*> in;
    for (const Value& value : step.inputs) in.push_back(&array(value));
    if (monitor_ && monitor_.inputs) watch(step, in);
    results.push_back(run_node(runtime_, *step.op, step.attrs, in, {.node_name = step.name}));
    if (monitor_) watch_outputs(step, results.back());
  }
  std::vector<NDArray> outputs;
  for (const Value& value : outputs_) {
    const NDArray* const result = &array(value);
    if (value.from != Value::From::input) {
      outputs.push_back(*result);
      continue;
    }
    const ops::OpDef& copy = *runtime_.table().core().copy;  // the caller's own array stays apart
    outputs.push_back(run_node(runtime_, copy, runtime_.table().parse(copy, {}), {&result, 1})[0]);
  }
  return outputs;
}

void DynamicGraph::set_monitor(Monitor monitor) {
  if (before_) before_->set_monitor(monitor);
  monitor_ = std::move(monitor);
}

void DynamicGraph::watch(const Step& step, std::span<const NDArray* const> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = step.inputs[i];
    if (monitor_.names == Monitor::Names::executor && value.from == Value::From::input)
      monitor_.see(inputs_[value.at], "", *inputs[i]);
    monitor_.see(step.name + '_' + monitor_.input_name(*step.op, *step.attrs, static_cast<int>(i)),
                 step.op->name, *inputs[i]);
  }
}

void DynamicGraph::watch_outputs(const Step& step, const NDArrays& outputs) const {
  const int shown = std::min(monitor_.count_outputs(*step.op, *step.attrs), static_cast<int>(outputs.size()));
  for (int i = 0; i < shown; ++i)
    monitor_.see(step.name + '_' + monitor_.output_name(*step.op, *step.attrs, i), step.op->name,
                 outputs[static_cast<size_t>(i)]);
}

}  // namespace loomix
