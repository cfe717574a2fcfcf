// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/widen_whole.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ops/elemwise/elemwise.h"
#include "ops/quantization/quantization.h"
#include "ops/shape/shape.h"
#include "ops/table.h"
#include "symbol/passes/readers.h"
#include "symbol/passes/whole_rewriter.h"

namespace loomix {
namespace {

using ops::WholeKind;
using ops::WholeRole;

class Widener final : public WholeRewriter {
 public:
  Widener(const Graph& graph, const ops::OpTable& table, const Inference& known)
      : WholeRewriter(graph, table, known),
        readers_(count_readers(graph, index_)),
        real_(static_cast<size_t>(graph.size())) {}

 private:
  ValueRef& real(NodeId id) { return real_[static_cast<size_t>(id)]; }
  // As it was, from the layers of 8 bits before it.
  ValueRef made_plain(ValueRef value) override { return copied(value); }

  ValueRef add(const char* op, Ref<const AttrsBase> attrs, std::span<const ValueRef> inputs, NodeId like) {
    return {result_.add_op(table_.at(op), std::move(attrs), inputs, graph_[like].info), 0};
  }
  ValueRef clamped(ValueRef value, const ops::Range& range, NodeId like) {
    return add("clip", make_attrs(ops::ClipParams{range.low, range.high}), {&value, 1}, like);
  }
  // Data as they are, in their range. If nothing else reads a clamp, both are one: a layer takes in no second one.
  ValueRef clamped_data(ValueRef data, const ops::Range& range, NodeId like) {
    const ValueRef value = plain(data);
    const Node& before = result_[value.node];
    const auto own = before.op && before.op->clamp ? before.op->clamp(*before.attrs) : std::nullopt;
    if (!own || !(own->low <= own->high) || readers_[static_cast<size_t>(index_[data])] > 1)
      return clamped(value, range, like);
    const auto within = [&](auto end) { return std::clamp(static_cast<float>(end), range.low, range.high); };
    return clamped(result_.inputs(value.node)[0], {within(own->low), within(own->high)}, like);
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
      const auto role = whole_role(graph_[reader]);
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

  const char* take(NodeId id, const WholeRole& role) override {
    const auto inputs = graph_.inputs(id);
    if (role.kind == WholeKind::quantize) {
      if (dtype(inputs[0]) != DType::float32) return "its data is not float32";
      real(id) = clamped_data(inputs[0], *role.range, id);
      return nullptr;
    }
    std::vector<ValueRef> read;
    const bool is_product = role.kind == WholeKind::product;
    for (int i = 0; i < (is_product ? 1 : role.arrays); ++i) {
      const NodeId from = whole_source(graph_, id, i, role);
      if (from < 0 || !real(from)) return kUnknownRange;
      read.push_back(real(from));
    }
    if (is_product && !has_held_parameters(graph_, id, role)) return kComputedWeight;
    for (int i = 1; i < role.arrays && is_product; ++i) {
      const auto at = static_cast<size_t>(role.arrays + 2 * i);
      read.push_back(held(inputs[static_cast<size_t>(i)], inputs[at], inputs[at + 1]));
    }
    ValueRef made = role.real ? add(role.real, attrs_of(id, role), read, id) : read[0];
    // A clamp would keep the sum apart from the layer. Packed layers add what they have not rounded, either.
    const bool is_added = role.kind == WholeKind::requantize && role.range->low < 0 && is_read_by_sums(id);
    if (role.range && !is_added) made = clamped(made, *role.range, id);
    if (role.kind == WholeKind::dequantize) set_plain({id, 0}, made);
    else real(id) = made;
    return nullptr;
  }

  const std::vector<int> readers_;  // by value
  std::vector<ValueRef> real_;      // by node: its output 0 as real numbers
};

}  // namespace

Graph widen_whole(const Graph& graph, const ops::OpTable& table, const Inference& known, const char* reason,
                  std::vector<WholeNote>* notes) {
  return Widener(graph, table, known).run({.runs = WholeNote::Runs::real, .reason = reason}, notes);
}

}  // namespace loomix
