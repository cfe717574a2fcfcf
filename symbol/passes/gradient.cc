// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/gradient.h"

#include <algorithm>

#include "base/error.h"

namespace loomix {
namespace {

bool is_named(const Node& node) { return node.info && !node.info->name.empty(); }

// Grows the graph; the state of one run of the pass.
class Differentiator {
 public:
  Differentiator(Graph graph, const ops::OpTable& table, const GradientRequest& request)
      : graph_(std::move(graph)),
        table_(table),
        request_(request),
        index_(graph_),
        forward_size_(graph_.size()) {}

  GradientResult run() {
    mark_wanted();
    contributions_.resize(index_.size());
    for (size_t i = 0; i < request_.heads.size(); ++i) add_to(request_.heads[i], request_.head_grads[i]);
    for (NodeId id = forward_size_ - 1; id >= 0; --id) visit(id);
    std::vector<ValueRef> grads;
    for (const ValueRef& value : request_.wrt) grads.push_back(total(value));
    return {std::move(graph_), std::move(grads)};
  }

  bool wanted(ValueRef value) const { return wanted_[index_[value]]; }
  bool has_grad(ValueRef value) const { return !contributions_[index_[value]].empty(); }

  // The sum of what flows back into the value; empty if nothing does. Summed once.
  ValueRef total(ValueRef value) {
    auto& parts = contributions_[index_[value]];
    if (parts.empty()) return {};
    if (parts.size() > 1) {
      const bool pair = parts.size() == 2;
      const ops::OpDef& op = pair ? *table_.core().add : *table_.core().add_many;
      TextPairs attrs;
      if (!pair) attrs.emplace_back(op.variadic_count, std::to_string(parts.size()));
      Ref<NodeInfo> info;
      if (is_named(graph_[value.node])) {
        info = make_ref<NodeInfo>();
        info->name = "sum_grad";
        info->gradients.emplace_back(0, "output");
      }
      parts = {{graph_.add_op(op, table_.parse(op, attrs), parts, std::move(info), value.node), 0}};
    }
    return parts[0];
  }

  void add_to(ValueRef value, ValueRef grad) {
    if (grad && wanted(value)) contributions_[index_[value]].push_back(grad);
  }

  Graph& graph() { return graph_; }
  const ops::OpTable& table() const { return table_; }

 private:
  // A value's gradient is wanted if a `wrt` can be reached from it.
  void mark_wanted() {
    wanted_.assign(index_.size(), false);
    for (const ValueRef& value : request_.wrt) wanted_[index_[value]] = true;
    for (NodeId id = 0; id < forward_size_; ++id) {
      const Node& node = graph_[id];
      if (node.is_variable()) continue;
      const auto inputs = graph_.inputs(id);
      if (std::none_of(inputs.begin(), inputs.end(), [&](ValueRef v) { return wanted(v); })) continue;
      for (int i = 0; i < node.num_outputs; ++i) wanted_[index_(id, i)] = true;
    }
  }

  // Whether a loss on the way to the value would have a gradient whatever flows back into it.
  bool has_loss_before(ValueRef value) {
    if (loss_before_.empty()) {
      loss_before_.assign(size_t(forward_size_), false);
      for (NodeId id = 0; id < forward_size_; ++id) {
        const Node& node = graph_[id];
        if (node.is_variable()) continue;
        const auto inputs = graph_.inputs(id);
        loss_before_[size_t(id)] = (node.op && node.op->is_loss) ||
                                   std::any_of(inputs.begin(), inputs.end(),
                                               [&](ValueRef v) { return loss_before_[size_t(v.node)]; });
      }
    }
    return loss_before_[size_t(value.node)];
  }

  // Zero flows back to the inputs: nothing, but for losses before them.
  void reach_losses(NodeId id) {
    for (const ValueRef& value : graph_.inputs(id)) {
      if (!wanted(value) || !has_loss_before(value)) continue;
      reached_by_zero_.resize(size_t(forward_size_), false);
      reached_by_zero_[size_t(value.node)] = true;
    }
  }
  bool reached_by_zero(NodeId id) const { return !reached_by_zero_.empty() && reached_by_zero_[size_t(id)]; }

  void visit(NodeId id);

  Graph graph_;
  const ops::OpTable& table_;
  const GradientRequest& request_;
  ValueIndex index_;  // of the forward nodes
  NodeId forward_size_;
  std::vector<bool> wanted_;
  std::vector<std::vector<ValueRef>> contributions_;
  std::vector<bool> loss_before_, reached_by_zero_;  // of nodes; empty until a zero flows back
};

// GradBuilder numbers nodes from 1 in its opaque pointer, for the arrays of the graph move while it grows.
class Builder final : public ops::GradBuilder {
 public:
  Builder(Differentiator& pass, NodeId node) : pass_(pass), node_(node), first_(pass.graph().size()) {}

  // Calls the nodes added `fc1_backward` if the node is `fc1`, and the gradient of input 0 `output0`.
  void name_nodes() {
    if (!is_named(node())) return;
    int differentiable = 0;
    for (int i = 0; i < num_in(); ++i) differentiable += mutates_input(pass_.graph(), node_, i) ? 0 : 1;
    for (NodeId id = first_; id < pass_.graph().size(); ++id) {
      if (pass_.graph()[id].info) continue;
      auto info = make_ref<NodeInfo>();
      info->name = node().info->name + "_backward";
      for (const auto& [input, grad] : set_) {
        if (grad.node != id) continue;
        info->gradients.emplace_back(grad.index,
                                     differentiable > 1 ? "output" + std::to_string(input) : "output");
      }
      pass_.graph()[id].info = std::move(info);
    }
  }

  int num_in() const override { return static_cast<int>(node().num_inputs); }
  int num_out() const override { return node().num_outputs; }
  ops::GradValue in(int i) override {
    check(i, num_in());
    return to_grad(pass_.graph().inputs(node_)[i]);
  }
  ops::GradValue out(int i) override {
    check(i, num_out());
    return to_grad({node_, i});
  }
  ops::GradValue saved(int i) override {
    check(i, node().num_saved);
    return to_grad(pass_.graph().saved(node_, i));
  }
  ops::GradValue grad_of(int i) override {
    check(i, num_out());
    if (const ValueRef grad = pass_.total({node_, i})) return to_grad(grad);
    const ops::OpDef& zeros = *pass_.table().core().zeros_like;
    const ops::GradValue like = out(i);
    return add(zeros, {&like, 1}, pass_.table().parse(zeros, {}))[0];
  }
  bool has_grad_of(int i) override {
    check(i, num_out());
    return pass_.has_grad({node_, i});
  }
  bool wants(int i) const override { return i < num_in() && pass_.wanted(pass_.graph().inputs(node_)[i]); }

  std::vector<ops::GradValue> call(std::string_view name, std::span<const ops::GradValue> inputs,
                                   TextPairs attrs) override {
    const ops::OpDef& op = pass_.table().at(name);
    if (!op.variadic_count.empty() && std::none_of(attrs.begin(), attrs.end(), [&](const auto& a) {
          return a.first == op.variadic_count;
        })) {
      attrs.emplace_back(op.variadic_count, std::to_string(inputs.size()));
    }
    return add(op, inputs, pass_.table().parse(op, attrs));
  }
  std::vector<ops::GradValue> call(std::string_view name, std::span<const ops::GradValue> inputs,
                                   Ref<const AttrsBase> attrs) override {
    const ops::OpDef& op = pass_.table().at(name);
    LOOMIX_INTERNAL_CHECK(op.params == &attrs->schema());
    return add(op, inputs, std::move(attrs));
  }
  Ref<const AttrsBase> attrs() const override { return node().attrs; }

  void set(int i, ops::GradValue grad) override {
    check(i, num_in());
    if (!grad) return;
    set_.emplace_back(i, to_value(grad));
    pass_.add_to(pass_.graph().inputs(node_)[i], to_value(grad));
  }

 private:
  const Node& node() const { return pass_.graph()[node_]; }
  void check(int i, int count) const { LOOMIX_INTERNAL_CHECK(i >= 0 && i < count); }
  static ops::GradValue to_grad(ValueRef value) {
    return {reinterpret_cast<void*>(static_cast<intptr_t>(value.node) + 1), value.index};
  }
  static ValueRef to_value(ops::GradValue value) {
    return {static_cast<NodeId>(reinterpret_cast<intptr_t>(value.node) - 1), value.index};
  }
  std::vector<ops::GradValue> add(const ops::OpDef& op, std::span<const ops::GradValue> inputs,
                                  Ref<const AttrsBase> attrs) {
    std::vector<ValueRef> values;
    for (const auto& input : inputs) values.push_back(to_value(input));
    LOOMIX_INTERNAL_CHECK(op.count_inputs(*attrs) == static_cast<int>(values.size()));
    const NodeId id = pass_.graph().add_op(op, std::move(attrs), values, {}, node_);
    std::vector<ops::GradValue> outputs;
    for (int i = 0; i < pass_.graph()[id].num_outputs; ++i) outputs.push_back(to_grad({id, i}));
    return outputs;
  }

  Differentiator& pass_;
  const NodeId node_;
  const NodeId first_;                         // node that this one adds
  std::vector<std::pair<int, ValueRef>> set_;  // gradients by input
};

void Differentiator::visit(NodeId id) {
  const Node node = graph_[id];
  if (node.is_variable()) return;
  bool reached = false;
  for (int i = 0; i < node.num_outputs; ++i) reached = reached || has_grad({id, i});
  const auto inputs = graph_.inputs(id);
  if (std::none_of(inputs.begin(), inputs.end(), [&](ValueRef v) { return wanted(v); })) return;
  const bool is_zero = !reached && reached_by_zero(id);
  if (!reached && !is_zero) return;
  // As in MXNet: what stops a gradient does not stop a loss before it, whose gradient ignores what flows back.
  if (node.op && (node.op->zero_gradient || (is_zero && !node.op->is_loss))) return reach_losses(id);
  LOOMIX_CHECK(
      node.op && node.op->gradient, NotImplementedError,
      "[{}] node '{}' has no gradient, but one is needed through it; stop it with BlockGrad or leave its "
      "arguments out of the gradients.",
      graph_.op_name(id), graph_.name_of(id));
  Builder builder(*this, id);
  node.op->gradient(*node.attrs, builder);
  builder.name_nodes();
}

}  // namespace

GradientResult gradient(Graph graph, const ops::OpTable& table, const GradientRequest& request) {
  LOOMIX_INTERNAL_CHECK(request.heads.size() == request.head_grads.size());
  return Differentiator(std::move(graph), table, request).run();
}

}  // namespace loomix
