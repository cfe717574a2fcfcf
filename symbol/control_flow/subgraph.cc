// SPDX-License-Identifier: Apache-2.0
#include "symbol/control_flow/subgraph.h"

#include <algorithm>

#include "base/error.h"
#include "symbol/executor/run_node.h"
#include "symbol/passes/infer.h"

namespace loomix {
namespace {

bool draws(const Node& node) { return node.op && node.op->random_numbers; }

}  // namespace

Subgraph::Subgraph(std::vector<SymbolOutput> heads) : graph_(Symbol(std::move(heads)).graph()) {
  const auto mutated = mutated_variables(graph_);
  last_use_.resize(static_cast<size_t>(graph_.size()), -1);
  for (NodeId id = 0; id < graph_.size(); ++id) {
    const Node& node = graph_[id];
    random_ = random_ || draws(node);
    if (node.is_variable()) {
      variables_.push_back(id);
      mutated_.push_back(mutated[id]);
    }
    for (const ValueRef& input : graph_.inputs(id)) last_use_[static_cast<size_t>(input.node)] = id;
  }
  for (const ValueRef& output : graph_.outputs) {
    const Node& node = graph_[output.node];
    last_use_[static_cast<size_t>(output.node)] = graph_.size();
    LOOMIX_CHECK(!node.op || output.index < node.op->count_visible_outputs(*node.attrs), ValueError,
                 "[Subgraph] output {} of node '{}' is hidden, so a subgraph cannot give it.", output.index,
                 graph_.name_of(output.node));
  }
}

template <class T, class Infer>
void Subgraph::infer(std::span<T> inputs, std::span<T> outputs, T unknown, Infer&& rules) const {
  const ValueIndex index(graph_);
  std::vector<T> values(static_cast<size_t>(index.size()), unknown);
  const auto at = [&](ValueRef value) -> T& { return values[static_cast<size_t>(index[value])]; };
  for (size_t i = 0; i < inputs.size(); ++i) at({variables_[i], 0}) = inputs[i];
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != unknown) at(graph_.outputs[i]) = outputs[i];
  }
  rules(values);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = at({variables_[i], 0});
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = at(graph_.outputs[i]);
}

void Subgraph::infer_shapes(std::span<Shape> inputs, std::span<Shape> outputs) const {
  infer(inputs, outputs, Shape::unknown(), [&](std::vector<Shape>& shapes) {
    apply_variable_attrs(graph_, shapes, {});
    loomix::infer_shapes(graph_, shapes);
  });
}

void Subgraph::infer_dtypes(std::span<DType> inputs, std::span<DType> outputs) const {
  infer(inputs, outputs, DType::unknown, [&](std::vector<DType>& dtypes) {
    apply_variable_attrs(graph_, {}, dtypes);
    loomix::infer_dtypes(graph_, dtypes);
  });
}

std::vector<NDArray> Subgraph::run(Runtime& runtime, std::span<const NDArray> inputs, Device device) const {
  std::vector<NDArrays> values(static_cast<size_t>(graph_.size()));
  std::vector<const NDArray*> in;
  size_t variable = 0;
  for (NodeId id = 0; id < graph_.size(); ++id) {
    const Node& node = graph_[id];
    NDArrays& made = values[static_cast<size_t>(id)];
    if (node.is_variable()) {
      made.push_back(inputs[variable++]);
      continue;
    }
    LOOMIX_CHECK(node.op, NotImplementedError,
                 "[Subgraph] node '{}' needs the operator '{}', which Loomix does not have.",
                 graph_.name_of(id), graph_.op_name(id));
    in.clear();
    for (const ValueRef& input : graph_.inputs(id))
      in.push_back(&values[static_cast<size_t>(input.node)][static_cast<size_t>(input.index)]);
    const std::string name = graph_.name_of(id);
    RunOptions options;
    options.device = device;
    options.node_name = name;
    const Ref<const AttrsBase> attrs = node.op->instantiate ? node.op->instantiate(*node.attrs) : node.attrs;
    made = run_node(runtime, *node.op, attrs, in, options);
    for (const ValueRef& input : graph_.inputs(id)) {
      if (last_use_[static_cast<size_t>(input.node)] == id) values[static_cast<size_t>(input.node)].clear();
    }
  }
  std::vector<NDArray> outputs;
  for (const ValueRef& output : graph_.outputs)
    outputs.push_back(values[static_cast<size_t>(output.node)][static_cast<size_t>(output.index)]);
  return outputs;
}

}  // namespace loomix
