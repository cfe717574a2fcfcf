// SPDX-License-Identifier: Apache-2.0
#include "symbol/verify.h"

#include "base/error.h"

namespace loomix {

void verify(const Graph& graph, const char* pass) {
  const auto check = [&](bool ok, NodeId id, const char* what) {
    LOOMIX_CHECK(ok, InternalError, "[{}] the graph that this pass made is broken at node {} ({}): {}.", pass,
                 id, id < graph.size() ? graph.name_of(id) : "", what);
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    const auto inputs = graph.inputs(id);
    for (const ValueRef& input : inputs) {
      check(input.node >= 0 && input.node < id, id, "an input does not come before it");
      check(input.index >= 0 && input.index < graph[input.node].num_values(), id,
            "an input names no value of its node");
    }
    check(node.forward < id, id, "it comes before the node whose gradient it computes");
    if (node.is_variable()) {
      check(inputs.empty() && node.num_values() == 1, id, "a variable has inputs or several outputs");
    }
    if (!node.op) continue;
    check(static_cast<bool>(node.attrs) && &node.attrs->schema() == node.op->params, id,
          "attributes of another operator");
    check(node.op->count_inputs(*node.attrs) == static_cast<int>(inputs.size()), id,
          "wrong number of inputs");
    check(node.op->count_outputs(*node.attrs) == node.num_outputs, id, "wrong number of outputs");
    check(static_cast<int>(node.op->saved_names.size()) == node.num_saved, id,
          "wrong number of saved values");
    for (size_t i = 0; i < inputs.size(); ++i) {
      check(!mutates_input(graph, id, static_cast<int>(i)) || graph[inputs[i].node].is_variable(), id,
            "it changes an input that is no variable");
    }
  }
  for (const ValueRef& output : graph.outputs) {
    check(output.node >= 0 && output.node < graph.size(), graph.size(),
          "an output of the graph names no node");
    check(output.index >= 0 && output.index < graph[output.node].num_values(), output.node,
          "an output names no value");
  }
}

}  // namespace loomix
