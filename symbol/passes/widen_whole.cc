// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/widen_whole.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ops/elemwise/elemwise.h"
#include "ops/shape/shape.h"
#include "ops/table.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/whole_input.h"

namespace loomix {
namespace {

using ops::WholeKind;
using ops::WholeRole;

class Widener {
 public:
  Widener(const Graph& graph, const ops::OpTable& table, const Inference& known)
      : graph_(graph),
        table_(table),
        known_(known),
        index_(graph),
        plain_(static_cast<size_t>(index_.size())),
        real_(static_cast<size_t>(graph.size())) {
    result_.reserve(graph.size());
  }

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      const auto role = node.op ? ops::whole_role(*node.op, *node.attrs) : std::nullopt;
      if (!role || !take(id, *role)) copy(id);
    }
    for (const ValueRef& output : graph_.outputs) result_.outputs.push_back(plain(output));
    return prune(result_);
  }

 private:
  ValueRef& real(NodeId id) { return real_[static_cast<size_t>(id)]; }
  ValueRef& plain_of(ValueRef value) { return plain_[static_cast<size_t>(index_[value])]; }

  void copy(NodeId id) {
    std::vector<ValueRef> inputs;
    for (const ValueRef& input : graph_.inputs(id)) inputs.push_back(plain(input));
    const NodeId made = result_.add_copy(graph_[id], inputs);
    for (int i = 0; i < graph_[id].num_values(); ++i) plain_of({id, i}) = {made, i};
  }
  // As it was, from the layers of 8 bits before it.
  ValueRef plain(ValueRef value) {
    if (!plain_of(value)) copy(value.node);
    return plain_of(value);
  }

  ValueRef add(const char* op, Ref<const AttrsBase> attrs, std::span<const ValueRef> inputs, NodeId like) {
    return {result_.add_op(table_.at(op), std::move(attrs), inputs, graph_[like].info), 0};
  }
  ValueRef clamped(ValueRef value, const ops::Range& range, NodeId like) {
    return add("clip", make_attrs(ops::ClipParams{range.low, range.high}), {&value, 1}, like);
  }
  // int8 parameters and the ends of their range, as real numbers.
  ValueRef held(ValueRef whole, ValueRef low, ValueRef high) {
    const ValueRef read[] = {plain(whole), plain(low), plain(high)};
    const ValueRef made = add("_contrib_dequantize", make_attrs(ops::DequantizeParams()), read, whole.node);
    result_[made.node].held = true;
    return made;
  }

  bool is_read_by_sums(NodeId id) const {
    for (NodeId reader = id + 1; reader < graph_.size(); ++reader) {
      const auto inputs = graph_.inputs(reader);
      if (std::ranges::find(inputs, ValueRef{id, 0}) == inputs.end()) continue;
      const auto role =
          graph_[reader].op ? ops::whole_role(*graph_[reader].op, *graph_[reader].attrs) : std::nullopt;
      if (!role || role->kind != WholeKind::add) return false;
    }
    return true;
  }

  // The attributes of the layer of real numbers.
  Ref<const AttrsBase> attrs_of(NodeId id, const WholeRole& role) const {
    const Ref<const AttrsBase>& own = graph_[id].attrs;
    if (role.kind == WholeKind::product || role.kind == WholeKind::pooling) return own;
    if (role.kind == WholeKind::concat)
      return make_attrs(ops::ConcatParams{role.arrays, own->as<ops::QuantizedConcatParams>().dim});
    return table_.parse(table_.at(role.real), {});
  }

  bool take(NodeId id, const WholeRole& role) {
    const auto inputs = graph_.inputs(id);
    if (role.kind == WholeKind::quantize) {
      if (known_.dtypes[static_cast<size_t>(index_[inputs[0]])] != DType::float32) return false;
      real(id) = clamped(plain(inputs[0]), *role.range, id);
      return true;
    }
    std::vector<ValueRef> read;
    const bool is_product = role.kind == WholeKind::product;
    for (int i = 0; i < (is_product ? 1 : role.arrays); ++i) {
      const NodeId from = whole_source(graph_, id, i, role);
      if (from < 0 || !real(from)) return false;
      read.push_back(real(from));
    }
    if (is_product && !has_held_parameters(graph_, id, role)) return false;
    for (int i = 1; i < role.arrays && is_product; ++i) {
      const auto at = static_cast<size_t>(role.arrays + 2 * i);
      read.push_back(held(inputs[static_cast<size_t>(i)], inputs[at], inputs[at + 1]));
    }
    ValueRef made = role.real ? add(role.real, attrs_of(id, role), read, id) : read[0];
    // A clamp would keep the sum apart from the layer. Packed layers add what they have not rounded, either.
    const bool is_added = role.kind == WholeKind::requantize && role.range->low < 0 && is_read_by_sums(id);
    if (role.range && !is_added) made = clamped(made, *role.range, id);
    (role.kind == WholeKind::dequantize ? plain_of({id, 0}) : real(id)) = made;
    return true;
  }

  const Graph& graph_;
  const ops::OpTable& table_;
  const Inference& known_;
  const ValueIndex index_;
  std::vector<ValueRef> plain_;  // by value: where it is in the new graph, as users have it
  std::vector<ValueRef> real_;   // by node: its output 0 as real numbers
  Graph result_;
};

}  // namespace

Graph widen_whole(const Graph& graph, const ops::OpTable& table, const Inference& known) {
  return Widener(graph, table, known).run();
}

}  // namespace loomix
