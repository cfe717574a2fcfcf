// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/pack_whole.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/shape/shape.h"
#include "ops/table.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/readers.h"
#include "symbol/passes/whole_input.h"

namespace loomix {
namespace {

using ops::PackedClosing;
using ops::Range;
using ops::WholeKind;
using ops::WholeRole;

// Output 0 of a node, if it is of whole numbers whose range is known.
struct Whole {
  DType type = DType::int32;  // int32: sums that are not rounded
  Range range = {};           // of 8 bits
  Shape image;                // its shape before it was flattened
  NodeId source = -1;         // the old node of which it is the rounded result; it is made when it is needed
  bool relu = false;
  ValueRef made = {};  // in packed form, in the new graph

  bool is_rounded() const { return type != DType::int32; }
  double step() const { return range.step(type); }
};

// Output 0 of a dequantize, or of a clamp behind one: real numbers that are made if anybody but a quantize reads them.
struct Real {
  NodeId whole = -1;  // what is dequantized
  ops::Clamp bounds = {};
};

class Packer {
 public:
  Packer(const Graph& graph, const ops::OpTable& table, const Inference& known)
      : graph_(graph),
        table_(table),
        known_(known),
        index_(graph),
        readers_(count_readers(graph, index_)),
        plain_(static_cast<size_t>(index_.size())),
        whole_(static_cast<size_t>(graph.size())),
        real_(static_cast<size_t>(graph.size())) {
    result_.reserve(graph.size());
  }

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      const auto role = node.op ? ops::whole_role(*node.op, *node.attrs) : std::nullopt;
      if (role ? !take(id, *role) : !take_clamp(id)) copy(id);
    }
    for (const ValueRef& output : graph_.outputs) result_.outputs.push_back(plain(output));
    return prune(result_);
  }

 private:
  const Shape& shape(ValueRef value) const { return known_.shapes[static_cast<size_t>(index_[value])]; }
  DType dtype(ValueRef value) const { return known_.dtypes[static_cast<size_t>(index_[value])]; }
  std::optional<Whole>& at(NodeId id) { return whole_[static_cast<size_t>(id)]; }
  ValueRef& plain_of(ValueRef value) { return plain_[static_cast<size_t>(index_[value])]; }
  std::optional<Real>& real_of(NodeId id) { return real_[static_cast<size_t>(id)]; }
  bool has_one_reader(NodeId id) const { return readers_[static_cast<size_t>(index_(id, 0))] == 1; }

  WholeKind kind_of(NodeId id) const { return ops::whole_role(*graph_[id].op, *graph_[id].attrs)->kind; }

  template <class P>
  ValueRef add(const char* op, P params, std::span<const ValueRef> inputs, NodeId like = -1) {
    return {result_.add_op(table_.at(op), make_attrs(std::move(params)), inputs,
                           like < 0 ? Ref<const NodeInfo>() : graph_[like].info),
            0};
  }

  void copy(NodeId id) {
    std::vector<ValueRef> inputs;
    for (const ValueRef& input : graph_.inputs(id)) inputs.push_back(plain(input));
    const NodeId made = result_.add_copy(graph_[id], inputs);
    for (int i = 0; i < graph_[id].num_values(); ++i) plain_of({id, i}) = {made, i};
  }

  // ---- values as others read them ----

  ValueRef plain(ValueRef value) {
    if (ValueRef known = plain_of(value)) return known;
    if (const auto& real = real_of(value.node)) {
      if (graph_.inputs(value.node)[0].node == real->whole) plain_of(value) = dequantized(value.node);
      else copy(value.node);
      return plain_of(value);
    }
    const auto& whole = at(value.node);
    if (!whole->is_rounded()) copy(value.node);
    else if (value.index == 0) plain_of(value) = unpacked(packed(value.node), *whole, shape(value));
    else plain_of(value) = constant(value.index == 1 ? whole->range.low : whole->range.high);
    return plain_of(value);
  }

  ValueRef unpacked(ValueRef from, const Whole& whole, const Shape& as) {
    ValueRef made = from;
    if (whole.image.ndim() == 4) made = add("transpose", ops::TransposeParams{{0, 3, 1, 2}}, {&made, 1});
    return reshaped(made, whole.image, as);
  }

  ValueRef add(const char* op, const TextPairs& attrs, std::span<const ValueRef> inputs) {
    const ops::OpDef& def = table_.at(op);
    return {result_.add_op(def, table_.parse(def, attrs), inputs), 0};
  }

  ValueRef reshaped(ValueRef made, const Shape& from, const Shape& to) {
    return from == to ? made : add("Reshape", {{"shape", tuple_text(to)}}, {&made, 1});
  }

  // It may be one of the graph's outputs, so it is not held.
  ValueRef constant(float value) {
    return add("_full", {{"shape", "(1,)"}, {"value", fmt::format("{}", value)}}, {});
  }

  // ---- what becomes whole ----

  // The whole numbers that input `i` of a node holds.
  Whole* whole_input(NodeId id, int i, const WholeRole& role) {
    const NodeId from = whole_source(graph_, id, i, role);
    return from >= 0 && at(from) ? &*at(from) : nullptr;
  }

  bool take(NodeId id, const WholeRole& role) {
    switch (role.kind) {
      case WholeKind::quantize: return take_quantize(id, role);
      case WholeKind::product: return take_product(id, role);
      case WholeKind::requantize: return take_requantize(id, role);
      case WholeKind::dequantize: return take_dequantize(id, role);
      case WholeKind::relu: return take_relu(id, role);
      case WholeKind::flatten: return take_flatten(id, role);
      case WholeKind::pooling: return take_pooling(id, role);
      case WholeKind::concat: return take_concat(id, role);
      case WholeKind::add: return take_add(id, role);
    }
    return false;
  }

  bool take_quantize(NodeId id, const WholeRole& role) {
    if (dtype(graph_.inputs(id)[0]) != DType::float32 || role.range->reach() <= 0) return false;
    if (take_rounded_again(id, role)) return true;
    at(id) = Whole{dtype({id, 0}), *role.range, shape({id, 0}), id};
    return true;
  }

  bool take_product(NodeId id, const WholeRole& role) {
    const Whole* const data = whole_input(id, 0, role);
    if (!data || !data->is_rounded()) return false;
    if (!has_held_parameters(graph_, id, role)) return false;
    // Layers that work on the last axis alone.
    if (shape({id, 0}).ndim() != shape(graph_.inputs(id)[1]).ndim()) return false;
    if (!ops::packed_product(*graph_[id].attrs, data->image, data->type, {})) return false;
    at(id) = Whole{.image = shape({id, 0}), .source = id};
    return true;
  }

  bool take_requantize(NodeId id, const WholeRole& role) {
    const Whole* const sums = whole_input(id, 0, role);
    if (!sums || sums->is_rounded() || role.range->reach() <= 0) return false;
    at(id) = Whole{dtype({id, 0}), *role.range, sums->image, sums->source};
    return true;
  }

  bool take_dequantize(NodeId id, const WholeRole& role) {
    if (!whole_input(id, 0, role)) return false;
    real_of(id) = Real{graph_.inputs(id)[0].node};
    return true;
  }

  bool take_clamp(NodeId id) {
    const Node& node = graph_[id];
    if (!node.op || !node.op->clamp || node.num_values() != 1 || graph_.inputs(id).size() != 1) return false;
    const NodeId from = graph_.inputs(id)[0].node;
    const auto clamp = node.op->clamp(*node.attrs);
    if (!clamp || !real_of(from) || !has_one_reader(from)) return false;
    Real after = *real_of(from);
    after.bounds = {std::max(after.bounds.low, clamp->low), std::min(after.bounds.high, clamp->high)};
    real_of(id) = after;
    return true;
  }

  // Sums that are made real, clamped and rounded again: as if they were rounded at once, where rounding clamps as much.
  bool take_rounded_again(NodeId id, const WholeRole& role) {
    const NodeId from = graph_.inputs(id)[0].node;
    const auto& real = real_of(from);
    if (!real || !has_one_reader(from) || at(real->whole)->is_rounded()) return false;
    const DType type = dtype({id, 0});
    const double reach = role.range->reach(), low = type == DType::uint8 ? 0 : -reach;
    const bool relu = real->bounds.low == 0;
    // Half a step beyond makes no difference.
    const double slack = 0.5 * role.range->step(type);
    if (real->bounds.high < reach - slack || (real->bounds.low > low + slack && !relu)) return false;
    const Whole& sums = *at(real->whole);
    at(id) = Whole{type, *role.range, sums.image, sums.source, relu};
    return true;
  }

  ValueRef dequantized(NodeId id) {
    const NodeId from = graph_.inputs(id)[0].node;
    const Whole& data = *at(from);
    if (!data.is_rounded() || (is_pending_result(data) && has_one_reader(from)))
      return unpacked(result_of(data.source, {DType::float32, data.relu}, 1), data, shape({id, 0}));
    const ValueRef read = packed(from);
    return reshaped(add("_packed_dequantize", ops::PackedDequantizeParams{data.step()}, {&read, 1}, id),
                    data.image, shape({id, 0}));
  }

  // Whether it is still to be made by an operator that rounds and clamps by itself.
  bool is_pending_result(const Whole& whole) const {
    return !whole.made && whole.source >= 0 && kind_of(whole.source) != WholeKind::quantize;
  }

  bool take_relu(NodeId id, const WholeRole& role) {
    const Whole* const data = whole_input(id, 0, role);
    if (!data || !data->is_rounded()) return false;
    const NodeId from = graph_.inputs(id)[0].node;
    Whole after = *data;
    if (is_pending_result(*data) && has_one_reader(from)) {
      after.relu = true;
    } else if (data->type == DType::uint8) {
      after.made = packed(from);
    } else {
      ops::PackedJoinParams p{1, 0, {1.0}, data->type, true};
      after.made = add("_packed_concat", std::move(p), std::initializer_list<ValueRef>{packed(from)}, id);
    }
    at(id) = after;
    return true;
  }

  bool take_flatten(NodeId id, const WholeRole& role) {
    const Whole* const data = whole_input(id, 0, role);
    if (!data || !data->is_rounded()) return false;
    Whole after = *data;
    after.made = packed(graph_.inputs(id)[0].node);
    at(id) = after;
    return true;
  }

  // Rounded, and not flattened.
  bool is_as_it_was(const Whole* data, ValueRef value) const {
    return data && data->is_rounded() && data->image == shape(value);
  }

  bool take_pooling(NodeId id, const WholeRole& role) {
    const ValueRef from = graph_.inputs(id)[0];
    const Whole* const data = whole_input(id, 0, role);
    if (!is_as_it_was(data, from) || shape(from).ndim() != 4) return false;
    ops::PackedPoolingParams p;
    static_cast<ops::PoolingParams&>(p) = graph_[id].attrs->as<ops::PoolingParams>();
    p.layout = ops::Layout::NHWC;
    Whole after{data->type, data->range, shape({id, 0})};
    after.made = add("_packed_pooling", std::move(p), std::initializer_list<ValueRef>{packed(from.node)}, id);
    at(id) = after;
    return true;
  }

  bool take_concat(NodeId id, const WholeRole& role) {
    const auto inputs = graph_.inputs(id).first(static_cast<size_t>(role.arrays));
    std::vector<Whole*> parts;
    for (int i = 0; i < role.arrays; ++i) {
      parts.push_back(whole_input(id, i, role));
      if (!is_as_it_was(parts.back(), inputs[static_cast<size_t>(i)])) return false;
    }
    Whole joined{dtype({id, 0}), parts[0]->range, shape({id, 0})};
    for (const Whole* part : parts)
      joined.range = {std::min(joined.range.low, part->range.low),
                      std::max(joined.range.high, part->range.high)};
    const int ndim = joined.image.ndim();
    int axis = normalize_axis(graph_[id].attrs->as<ops::QuantizedConcatParams>().dim, ndim,
                              "_contrib_quantized_concat");
    if (ndim == 4 && axis > 0) axis = axis == 1 ? 3 : axis - 1;
    ops::PackedJoinParams p{role.arrays, axis, {}, joined.type};
    std::vector<ValueRef> read;
    for (size_t i = 0; i < parts.size(); ++i) {
      Whole& part = *parts[i];
      if (is_pending_result(part) && has_one_reader(inputs[i].node)) {
        part.relu = part.relu || (part.type == DType::uint8 && joined.type == DType::int8);
        part.type = joined.type;
        part.range = joined.range;
      }
      p.scales.push_back(part.step() / joined.step());
      read.push_back(packed(inputs[i].node));
    }
    joined.made = add("_packed_concat", std::move(p), read, id);
    at(id) = joined;
    return true;
  }

  bool take_add(NodeId id, const WholeRole& role) {
    const auto inputs = graph_.inputs(id);
    const Whole *const a = whole_input(id, 0, role), *const b = whole_input(id, 1, role);
    if (!is_as_it_was(a, inputs[0]) || !is_as_it_was(b, inputs[1])) return false;
    if (role.range && role.range->reach() <= 0) return false;
    at(id) = Whole{dtype({id, 0}), role.range.value_or(Range{}), shape({id, 0}), id};
    return true;
  }

  // ---- making them ----

  ValueRef packed(NodeId id) {
    Whole& whole = *at(id);
    if (!whole.made && kind_of(whole.source) == WholeKind::quantize) {
      const ValueRef from = plain(graph_.inputs(whole.source)[0]);
      whole.made = add("_packed_quantize", ops::PackedQuantizeParams{whole.step(), whole.type}, {&from, 1},
                       whole.source);
    } else if (!whole.made) {
      whole.made = result_of(whole.source, {whole.type, whole.relu}, whole.step());
    }
    return whole.made;
  }

  ValueRef result_of(NodeId source, const PackedClosing& closing, double step) {
    if (kind_of(source) == WholeKind::add) return sum_of(source, closing, step);
    return *product_of(source, closing, step, {});
  }

  // Of a product that only this sum reads, the other array is added before its sums are rounded.
  ValueRef sum_of(NodeId id, const PackedClosing& closing, double step) {
    const NodeId given[] = {graph_.inputs(id)[0].node, graph_.inputs(id)[1].node};
    for (const bool later : {true, false}) {
      const NodeId own = later ? std::max(given[0], given[1]) : std::min(given[0], given[1]);
      const NodeId other = given[0] == own ? given[1] : given[0];
      const Whole& part = *at(own);
      if (closing.out_type == DType::float32 || !is_pending_result(part) || !has_one_reader(own) ||
          part.type != DType::int8 || part.relu || kind_of(part.source) != WholeKind::product)
        continue;
      PackedClosing with = closing;
      with.added_type = at(other)->type;
      with.added_scale = at(other)->step() / step;
      if (const auto made = product_of(part.source, with, step, other)) return *made;
    }
    ops::PackedJoinParams p;
    p.num_args = 2;
    p.out_type = closing.out_type;
    p.relu = closing.relu;
    for (const NodeId part : given) p.scales.push_back(at(part)->step() / step);
    const ValueRef read[] = {packed(given[0]), packed(given[1])};
    return add("_packed_add", std::move(p), read, id);
  }

  std::optional<ValueRef> product_of(NodeId id, const PackedClosing& closing, double step,
                                     std::optional<NodeId> added) {
    const auto inputs = graph_.inputs(id);
    const NodeId from = inputs[0].node;
    const auto form = ops::packed_product(*graph_[id].attrs, at(from)->image, at(from)->type, closing);
    LOOMIX_INTERNAL_CHECK(form || added);
    if (!form) return {};
    const bool no_bias = inputs.size() == 6;
    const size_t ranges = no_bias ? 4 : 5;  // of the weight
    std::vector<ValueRef> of_scale{plain(inputs[ranges]), plain(inputs[ranges + 1])};
    if (!no_bias) of_scale.insert(of_scale.end(), {plain(inputs[2]), plain(inputs[7]), plain(inputs[8])});
    const ops::PackedScaleParams factors{form->filters, at(from)->step(), step, no_bias};
    const ValueRef scale = add("_packed_scale", factors, of_scale);
    const ValueRef weight = plain(inputs[1]);
    const ValueRef prepared{result_.add_op(table_.at(form->prepare), form->attrs, {&weight, 1}), 0};
    result_[scale.node].held = result_[prepared.node].held = true;
    std::vector<ValueRef> read{packed(from), prepared, scale, {scale.node, 1}};
    if (added) read.push_back(packed(*added));
    return ValueRef{result_.add_op(table_.at(form->op), form->attrs, read, graph_[id].info), 0};
  }

  const Graph& graph_;
  const ops::OpTable& table_;
  const Inference& known_;
  const ValueIndex index_;
  const std::vector<int> readers_;           // by value
  std::vector<ValueRef> plain_;              // by value: where it is in the new graph, as users have it
  std::vector<std::optional<Whole>> whole_;  // by node: its output 0
  std::vector<std::optional<Real>> real_;    // by node: its output 0
  Graph result_;
};

}  // namespace

Graph pack_whole(const Graph& graph, const ops::OpTable& table, const Inference& known) {
  return Packer(graph, table, known).run();
}

}  // namespace loomix
