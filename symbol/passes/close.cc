// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/close.h"

#include <numeric>

#include "ops/table.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/readers.h"

namespace loomix {
namespace {

bool is_relu(const Node& node) {
  const auto clamp = node.op && node.op->clamp ? node.op->clamp(*node.attrs) : std::nullopt;
  return clamp && clamp->is_relu();
}

}  // namespace

// The node before stays where it is, as another operator, and takes the place of what it has become.
Graph close(Graph graph, const ops::OpTable& table, const Inference& known,
            const ops::ClosedOperators& operators) {
  const ValueIndex index(graph);
  const std::vector<int> readers = count_readers(graph, index);
  std::vector<NodeId> instead(static_cast<size_t>(graph.size()));
  std::iota(instead.begin(), instead.end(), 0);
  const auto place = [&](NodeId& id) { id = instead[static_cast<size_t>(id)]; };
  const auto view = [&](ValueRef value) {
    const auto at = static_cast<size_t>(index[value]);
    return TensorView{nullptr, known.dtypes[at], known.shapes[at]};
  };
  const auto closed = [&](NodeId id) {
    const Node& node = graph[id];
    std::vector<TensorView> in, out;
    for (const ValueRef& input : graph.inputs(id)) in.push_back(view(input));
    for (int i = 0; i < node.num_outputs; ++i) out.push_back(view({id, i}));
    const char* const name = operators.with_relu(*node.op, *node.attrs, {.in = in, .out = out, .req = {}});
    return name ? &table.at(name) : nullptr;
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    Node& node = graph[id];
    const bool is_closing = node.forward < 0 && is_relu(node);
    const bool reads_alone = is_closing && readers[static_cast<size_t>(index[graph.inputs(id)[0]])] == 1;
    for (ValueRef& input : graph.inputs(id)) place(input.node);
    if (node.forward >= 0) place(node.forward);
    if (!reads_alone) continue;
    const ValueRef from = graph.inputs(id)[0];
    Node& before = graph[from.node];
    if (from.index != 0 || !before.op || before.forward >= 0 || before.held != node.held) continue;
    if (const ops::OpDef* const op = closed(from.node)) {
      before.op = op;
      instead[static_cast<size_t>(id)] = from.node;
    }
  }
  for (ValueRef& output : graph.outputs) place(output.node);
  return prune(graph);
}

}  // namespace loomix
