// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/layout.h"

#include <algorithm>
#include <optional>

#include "ops/blocked/blocked.h"
#include "ops/table.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/readers.h"

namespace loomix {
namespace {

using ops::BlockedForm;
using ops::Closing;

class Chooser {
 public:
  Chooser(const Graph& graph, const ops::OpTable& table, const Inference& known)
      : graph_(graph),
        table_(table),
        known_(known),
        index_(graph),
        plain_(static_cast<size_t>(index_.size())),
        blocked_(static_cast<size_t>(index_.size())),
        readers_(count_readers(graph, index_)) {
    result_.reserve(graph.size());
  }

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!close(id) && !keep_blocked(id) && !make_blocked(id)) copy(id);
    }
    for (const ValueRef& output : graph_.outputs) result_.outputs.push_back(plain(output));
    return prune(result_);
  }

 private:
  int readers(ValueRef value) const { return readers_[static_cast<size_t>(index_[value])]; }
  const Shape& shape(ValueRef value) const { return known_.shapes[static_cast<size_t>(index_[value])]; }
  ValueRef& blocked_of(ValueRef value) { return blocked_[static_cast<size_t>(index_[value])]; }

  ValueRef add(const char* op, Ref<const AttrsBase> attrs, std::span<const ValueRef> inputs,
               const Ref<const NodeInfo>& info) {
    return {result_.add_op(table_.at(op), std::move(attrs), inputs, info), 0};
  }

  // The value in the new graph, converted if need be.
  ValueRef plain(ValueRef value) {
    ValueRef& made = plain_[static_cast<size_t>(index_[value])];
    if (!made) {
      const ValueRef from = blocked_of(value);
      made = add("_unblock_channels", make_attrs(ops::UnblockParams{shape(value)[1]}), {&from, 1}, {});
    }
    return made;
  }
  ValueRef blocked(ValueRef value) {
    ValueRef& made = blocked_of(value);
    if (!made) {
      const ValueRef from = plain(value);
      made = add("_block_channels", make_attrs(ops::NoParams()), {&from, 1}, {});
    }
    return made;
  }

  void copy(NodeId id) {
    std::vector<ValueRef> inputs;
    for (const ValueRef& input : graph_.inputs(id)) inputs.push_back(plain(input));
    const NodeId made = result_.add_copy(graph_[id], inputs);
    for (int i = 0; i < graph_[id].num_values(); ++i) plain_[static_cast<size_t>(index_(id, i))] = {made, i};
  }

  bool is_image(ValueRef value) const {
    const Shape& of = shape(value);
    return of.ndim() == 4 && of.size() > 0 &&
           ops::is_blocked_type(known_.dtypes[static_cast<size_t>(index_[value])]);
  }

  // Whether all inputs have the output's shape, and whole blocks of channels.
  bool has_one_shape(NodeId id) const {
    const ValueRef out{id, 0};
    return is_image(out) && ops::fills_blocks(shape(out)) &&
           std::ranges::all_of(graph_.inputs(id),
                               [&](ValueRef v) { return is_image(v) && shape(v) == shape(out); });
  }

  bool is_addition(NodeId id) const {
    const ops::OpDef& op = *graph_[id].op;
    return op.neutral == 0.0 && op.commutes && !op.scalar && graph_.inputs(id).size() == 2;
  }

  // The node's work as a part of the one before it.
  bool close(NodeId id) {
    const Node& node = graph_[id];
    if (!node.op || !node.op->elementwise || node.num_values() != 1 || !has_one_shape(id)) return false;
    const auto inputs = graph_.inputs(id);
    if (const Closing clamp = node.op->clamp ? node.op->clamp(*node.attrs) : Closing())
      return close_with(id, inputs[0], clamp, {});
    if (!is_addition(id) || inputs[0] == inputs[1]) return false;
    // The later one, so that the other is there.
    const bool first = blocked_of(inputs[0]).node > blocked_of(inputs[1]).node;
    const ValueRef later = inputs[first ? 0 : 1], other = inputs[first ? 1 : 0];
    return close_with(id, later, {}, other) || close_with(id, other, {}, later);
  }

  bool close_with(NodeId id, ValueRef before, Closing closing, ValueRef added) {
    const ValueRef at = blocked_of(before);
    if (!at || readers(before) > 1) return false;
    const Node closed = result_[at.node];
    if (!closed.op->closing) return false;
    Ref<const AttrsBase> attrs = closed.op->closing(*closed.attrs, closing);
    if (!attrs) return false;
    std::vector<ValueRef> inputs(result_.inputs(at.node).begin(), result_.inputs(at.node).end());
    if (added) inputs.push_back(blocked(added));
    blocked_of({id, 0}) = {result_.add_op(*closed.op, std::move(attrs), inputs, closed.info), 0};
    return true;
  }

  // An elementwise node of which an input is blocked.
  bool keep_blocked(NodeId id) {
    const Node& node = graph_[id];
    if (!node.op || !node.op->elementwise || node.num_values() != 1 || !has_one_shape(id)) return false;
    if (std::ranges::none_of(graph_.inputs(id), [&](ValueRef v) { return bool(blocked_of(v)); }))
      return false;
    std::vector<ValueRef> inputs;
    for (const ValueRef& input : graph_.inputs(id)) inputs.push_back(blocked(input));
    blocked_of({id, 0}) = {result_.add_copy(node, inputs), 0};
    return true;
  }

  bool make_blocked(NodeId id) {
    const Node& node = graph_[id];
    if (!node.op || !node.op->blocked_form) return false;
    std::vector<TensorView> in, out;
    const auto view = [&](ValueRef v) {
      return TensorView{nullptr, known_.dtypes[static_cast<size_t>(index_[v])], shape(v)};
    };
    const auto given = graph_.inputs(id);
    for (const ValueRef& input : given) in.push_back(view(input));
    for (int i = 0; i < node.num_outputs; ++i) out.push_back(view({id, i}));
    for (int i = 1; i < node.num_outputs; ++i) {
      if (readers({id, i}) > 0) return false;
    }
    const bool is_blocked = std::ranges::any_of(given, [&](ValueRef v) { return bool(blocked_of(v)); });
    const auto form = node.op->blocked_form(*node.attrs, {.in = in, .out = out, .req = {}}, is_blocked);
    if (!form) return false;
    std::vector<ValueRef> inputs;
    for (size_t i = 0; i < given.size(); ++i) {
      if (form->inputs[i] == BlockedForm::Input::blocked) inputs.push_back(blocked(given[i]));
      else if (form->inputs[i] == BlockedForm::Input::plain) inputs.push_back(plain(given[i]));
      else inputs.push_back(prepared(*form, plain(given[i]), node.info));
    }
    blocked_of({id, 0}) = add(form->op, form->attrs, inputs, node.info);
    return true;
  }

  ValueRef prepared(const BlockedForm& form, ValueRef from, const Ref<const NodeInfo>& info) {
    const Node& source = result_[from.node];
    const bool held = source.held || source.is_variable();
    const ValueRef made = add(form.prepare, form.attrs, {&from, 1}, info);
    result_[made.node].held = held;
    return made;
  }

  const Graph& graph_;
  const ops::OpTable& table_;
  const Inference& known_;
  const ValueIndex index_;
  std::vector<ValueRef> plain_, blocked_;  // by value: where it is in the new graph, in either form
  std::vector<int> readers_;               // by value, in the old graph
  Graph result_;
};

}  // namespace

Graph choose_layout(const Graph& graph, const ops::OpTable& table, const Inference& known) {
  if (!ops::has_blocked_convolution()) return graph;
  return Chooser(graph, table, known).run();
}

}  // namespace loomix
