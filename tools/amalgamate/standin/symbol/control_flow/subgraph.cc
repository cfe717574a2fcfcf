// SPDX-License-Identifier: Apache-2.0
#include "symbol/control_flow/subgraph.h"

#include "base/error.h"

namespace loomix {

Subgraph::Subgraph(std::vector<SymbolOutput> heads) : graph_(Symbol(std::move(heads)).graph()) {
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (graph_[id].is_variable()) ++num_inputs_;
    LOOMIX_CHECK(!graph_[id].is_unknown(), NotImplementedError,
                 "[Subgraph] node '{}' needs the operator '{}', which "
                 "prediction does not have.",
                 graph_.name_of(id), graph_.op_name(id));
  }
  for (const ValueRef& output : graph_.outputs) {
    const Node& node = graph_[output.node];
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
  std::vector<NodeId> variables;
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (graph_[id].is_variable()) variables.push_back(id);
  }
  for (size_t i = 0; i < inputs.size(); ++i) at({variables[i], 0}) = inputs[i];
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != unknown) at(graph_.outputs[i]) = outputs[i];
  }
  rules(values);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = at({variables[i], 0});
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

}  // namespace loomix
