// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "ops/table.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/readers.h"

namespace loomix {
namespace {

using ops::BlockedForm;
using ops::Closing;

class Chooser {
 public:
  Chooser(const Graph& graph, const ops::OpTable& table, const Inference& known, LayoutFor purpose,
          const ops::ImageForm& form, const PickForm& pick)
      : graph_(graph),
        table_(table),
        known_(known),
        training_(purpose == LayoutFor::training),
        form_(form),
        pick_(pick),
        index_(graph),
        plain_(static_cast<size_t>(index_.size())),
        blocked_(static_cast<size_t>(index_.size())),
        readers_(count_readers(graph, index_)),
        moved_(static_cast<size_t>(graph.size()), -1),
        first_(static_cast<size_t>(graph.size())),
        is_output_(static_cast<size_t>(index_.size()), false) {
    std::iota(first_.begin(), first_.end(), 0);
    result_.reserve(graph.size());
    for (const ValueRef& output : graph.outputs) is_output_[static_cast<size_t>(index_[output])] = true;
  }

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const NodeId forward = graph_[id].forward;
      forward_ = forward < 0 ? -1 : moved(forward);
      if (!close(id) && !keep_blocked(id) && !make_blocked(id)) copy(id);
      // At once, for what the gradients do comes after all that makes outputs.
      for (int i = 0; i < graph_[id].num_values(); ++i) {
        if (is_output_[static_cast<size_t>(index_(id, i))]) plain({id, i});
      }
    }
    for (const ValueRef& output : graph_.outputs) result_.outputs.push_back(plain(output));
    return prune(result_);
  }

  // Bytes of images that operators no longer convert, and of those that have to be converted instead.
  int64_t spared_bytes() const { return spared_bytes_; }
  int64_t converted_bytes() const { return converted_bytes_; }

 private:
  int readers(ValueRef value) const { return readers_[static_cast<size_t>(index_[value])]; }
  const Shape& shape(ValueRef value) const { return known_.shapes[static_cast<size_t>(index_[value])]; }
  DType dtype(ValueRef value) const { return known_.dtypes[static_cast<size_t>(index_[value])]; }
  TensorView view(ValueRef value) const { return {nullptr, dtype(value), shape(value)}; }
  ValueRef& plain_of(ValueRef value) { return plain_[static_cast<size_t>(index_[value])]; }
  ValueRef& blocked_of(ValueRef value) { return blocked_[static_cast<size_t>(index_[value])]; }

  // Of a node that a gradient made, what it becomes belongs to the gradients, too: so it does not run before them.
  ValueRef add(const ops::OpDef& op, Ref<const AttrsBase> attrs, std::span<const ValueRef> inputs,
               const Ref<const NodeInfo>& info) {
    return {result_.add_op(op, std::move(attrs), inputs, info, forward_), 0};
  }
  ValueRef add(const char* op, Ref<const AttrsBase> attrs, std::span<const ValueRef> inputs,
               const Ref<const NodeInfo>& info) {
    return add(table_.at(op), std::move(attrs), inputs, info);
  }
  NodeId add_copy(NodeId id, std::span<const ValueRef> inputs) {
    const NodeId made = moved_[static_cast<size_t>(id)] = result_.add_copy(graph_[id], inputs);
    if (graph_[id].forward >= 0) result_[made].forward = forward_;
    return made;
  }

  // What the node has become.
  NodeId moved(NodeId id) const { return moved_[static_cast<size_t>(first_[static_cast<size_t>(id)])]; }

  // The value in the new graph, converted if need be.
  ValueRef plain(ValueRef value) {
    ValueRef& made = plain_of(value);
    if (!made) {
      const ValueRef from = blocked_of(value);
      made = convert(form_.back(shape(value)), from, value);
    }
    return made;
  }
  ValueRef blocked(ValueRef value) {
    ValueRef& made = blocked_of(value);
    if (!made) {
      made = convert(form_.into(shape(value)), plain(value), value);
    }
    return made;
  }
  // A view costs nothing.
  ValueRef convert(const ops::ImageForm::Conversion& by, ValueRef from, ValueRef value) {
    const ops::OpDef& op = table_.at(by.first);
    if (op.identity.empty()) converted_bytes_ += view(value).bytes();
    return add(op, by.second, {&from, 1}, {});
  }

  // Whether an elementwise node only takes the type of an input, whose form does not matter then.
  bool lends_type(NodeId id, int input) const {
    const Node& node = graph_[id];
    return node.op && node.op->elementwise && node.op->is_shape_only(*node.attrs, input);
  }
  ValueRef either(ValueRef value) { return plain_of(value) ? plain_of(value) : blocked_of(value); }

  void copy(NodeId id) {
    std::vector<ValueRef> inputs;
    const auto given = graph_.inputs(id);
    for (int i = 0; i < static_cast<int>(given.size()); ++i) {
      const ValueRef input = given[static_cast<size_t>(i)];
      inputs.push_back(lends_type(id, i) ? either(input) : plain(input));
    }
    const NodeId made = add_copy(id, inputs);
    for (int i = 0; i < graph_[id].num_values(); ++i) plain_of({id, i}) = {made, i};
  }

  bool is_image(ValueRef value) const {
    const Shape& of = shape(value);
    return of.ndim() == 4 && of.size() > 0 && form_.types.contains(dtype(value));
  }

  // Whether all inputs have the output's shape, and what fills up the last block stays zero.
  bool has_one_shape(NodeId id) const {
    const ValueRef out{id, 0};
    return is_image(out) && (form_.fits(shape(out)) || keeps_zeros(id)) &&
           std::ranges::all_of(graph_.inputs(id),
                               [&](ValueRef v) { return is_image(v) && shape(v) == shape(out); });
  }

  bool keeps_zeros(NodeId id) const {
    const ops::OpDef& op = *graph_[id].op;
    const Closing clamp = op.clamp ? op.clamp(*graph_[id].attrs) : Closing();
    return op.gates || is_addition(id) || (clamp && clamp->low <= 0 && clamp->high >= 0);
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

  // Whether somebody reads another output of the node already.
  bool has_further_readers(ValueRef value) const {
    if (result_[value.node].num_values() == 1) return false;
    for (NodeId id = value.node + 1; id < result_.size(); ++id) {
      for (const ValueRef& input : result_.inputs(id)) {
        if (input.node == value.node && input.index != value.index) return true;
      }
    }
    return false;
  }

  bool close_with(NodeId id, ValueRef before, Closing closing, ValueRef added) {
    const ValueRef at = blocked_of(before);
    if (!at || readers(before) > 1) return false;
    const Node closed = result_[at.node];
    if (!closed.op->closing || has_further_readers(at)) return false;
    Ref<const AttrsBase> attrs = closed.op->closing(*closed.attrs, closing);
    if (!attrs) return false;
    std::vector<ValueRef> inputs(result_.inputs(at.node).begin(), result_.inputs(at.node).end());
    if (added) inputs.push_back(blocked(added));
    const ValueRef made = add(*closed.op, std::move(attrs), inputs, closed.info);
    blocked_of({id, 0}) = made;
    // Its other outputs, too, are those of the node with which this began.
    const NodeId first = first_[static_cast<size_t>(id)] = first_[static_cast<size_t>(before.node)];
    moved_[static_cast<size_t>(first)] = made.node;
    for (int i = 0; i < graph_[first].num_values(); ++i) {
      ValueRef& other = plain_of({first, i});
      if (other && other.node == at.node) other.node = made.node;
    }
    return true;
  }

  // An elementwise node of which an input that it reads is blocked.
  bool keep_blocked(NodeId id) {
    const Node& node = graph_[id];
    if (!node.op || !node.op->elementwise || node.num_values() != 1 || !has_one_shape(id)) return false;
    const auto given = graph_.inputs(id);
    std::vector<ValueRef> inputs;
    bool any = false;
    for (int i = 0; i < static_cast<int>(given.size()); ++i)
      any = any || (!lends_type(id, i) && blocked_of(given[static_cast<size_t>(i)]));
    if (!any) return false;
    for (int i = 0; i < static_cast<int>(given.size()); ++i) {
      const ValueRef input = given[static_cast<size_t>(i)];
      inputs.push_back(lends_type(id, i) ? either(input) : blocked(input));
    }
    blocked_of({id, 0}) = {add_copy(id, inputs), 0};
    return true;
  }

  bool make_blocked(NodeId id) {
    const Node& node = graph_[id];
    if (!node.op || !form_.knows(*node.op)) return false;
    std::vector<TensorView> in, out;
    std::vector<bool> is_blocked;
    const auto given = graph_.inputs(id);
    for (const ValueRef& input : given) {
      in.push_back(view(input));
      is_blocked.push_back(bool(blocked_of(input)));
    }
    for (int i = 0; i < node.num_outputs; ++i) out.push_back(view({id, i}));
    const ops::KernelSpec spec{.in = in, .out = out, .req = {}, .training = training_};
    auto form = form_.of(form_, *node.op, *node.attrs, spec, ops::BlockedInputs(is_blocked));
    if (!form) return false;
    if (pick_) form = pick_(node, spec, ops::BlockedInputs(is_blocked), *std::move(form));
    const auto has_form = static_cast<int>(form->outputs.size());
    for (int i = has_form; i < node.num_values(); ++i) {
      if (readers({id, i}) > 0) return false;
    }
    std::vector<ValueRef> inputs;
    for (size_t i = 0; i < given.size(); ++i) {
      if (form->inputs[i] == BlockedForm::Input::blocked) inputs.push_back(blocked(given[i]));
      else if (form->inputs[i] == BlockedForm::Input::plain) inputs.push_back(plain(given[i]));
      else if (form->inputs[i] == BlockedForm::Input::prepared)
        inputs.push_back(form->prepare ? prepared(*form, plain(given[i]), node.info) : as_image(given[i]));
    }
    const bool is_gated = pass_gate(id, *form, inputs);
    const NodeId made = add(form->op, is_gated ? form->gated : form->attrs, inputs, node.info).node;
    moved_[static_cast<size_t>(id)] = made;
    for (int i = 0; i < has_form; ++i)
      (form->outputs[static_cast<size_t>(i)] ? blocked_of({id, i}) : plain_of({id, i})) = {made, i};
    spared_bytes_ += form->spared_bytes;
    return true;
  }

  // Where input 0 of a gradient is let through by the sign of what its forward node has made a part of itself: what comes
  // before that gate, and what the form needs to know the sign, become the inputs.
  bool pass_gate(NodeId id, const BlockedForm& form, std::vector<ValueRef>& inputs) {
    const ValueRef head = graph_.inputs(id)[0];
    const Node& gate = graph_[head.node];
    if (!form.gated || !gate.op || !gate.op->gates || readers(head) > 1) return false;
    const ValueRef sign = blocked_of(graph_.inputs(head.node)[1]);
    if (!sign || result_[sign.node].is_variable() || !(*result_[sign.node].attrs == *form.gated))
      return false;
    const auto forward = result_.inputs(sign.node);
    if (!(forward[0] == inputs[1])) return false;
    inputs[0] = blocked(graph_.inputs(head.node)[0]);
    inputs.push_back(result_.inputs(sign.node)[form.gated_by]);
    return true;
  }

  // For reports: the time that it takes is not the operator's.
  static Ref<const NodeInfo> name_of_weight(const Ref<const NodeInfo>& of) {
    if (!of || of->name.empty()) return {};
    auto info = make_ref<NodeInfo>();
    info->name = "weight of " + of->name;
    return info;
  }

  ValueRef prepared(const BlockedForm& form, ValueRef from, const Ref<const NodeInfo>& info) {
    const Node& source = result_[from.node];
    const bool held = !training_ && (source.held || source.is_variable());
    const ValueRef made = add(form.prepare, form.attrs, {&from, 1}, training_ ? name_of_weight(info) : info);
    result_[made.node].held = held;
    return made;
  }

  // A weight in the form that images have. What is held costs nothing in a run.
  ValueRef as_image(ValueRef weight) {
    const Node& source = result_[plain(weight).node];
    const bool held = !training_ && (source.held || source.is_variable());
    const int64_t converted = converted_bytes_;
    const ValueRef made = blocked(weight);
    if (!held || !result_[made.node].op->identity.empty()) return made;  // a view follows its array
    converted_bytes_ = converted;
    result_[made.node].held = true;
    return made;
  }

  const Graph& graph_;
  const ops::OpTable& table_;
  const Inference& known_;
  const bool training_;
  const ops::ImageForm& form_;
  const PickForm& pick_;
  const ValueIndex index_;
  std::vector<ValueRef> plain_, blocked_;  // by value: where it is in the new graph, in either form
  std::vector<int> readers_;               // by value, in the old graph
  std::vector<NodeId> moved_;              // by node
  std::vector<NodeId> first_;              // by node: itself, or that of which it became a part
  std::vector<char> is_output_;            // by value
  NodeId forward_ = -1;                    // of the node at hand, in the new graph
  int64_t spared_bytes_ = 0, converted_bytes_ = 0;
  Graph result_;
};

}  // namespace

Graph choose_layout(const Graph& graph, const ops::OpTable& table, const Inference& known, LayoutFor purpose,
                    const ops::ImageForm& form, const PickForm& pick, std::string* note) {
  if (form.types == DTypeSet{}) return graph;
  Chooser chooser(graph, table, known, purpose, form, pick);
  Graph made = chooser.run();
  const int weight = purpose == LayoutFor::training ? form.training_weight : form.prediction_weight;
  const bool pays = weight == 0 || weight * chooser.converted_bytes() < chooser.spared_bytes();
  if (note != nullptr && weight > 0 && chooser.spared_bytes() > 0)
    *note += fmt::format("  layout {}: another one spares {} bytes of conversions, and takes {}\n",
                         pays ? "changed" : "left", chooser.spared_bytes(), chooser.converted_bytes());
  return pays ? made : graph;
}

}  // namespace loomix
