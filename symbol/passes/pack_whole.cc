// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/pack_whole.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/quantization/packed.h"
#include "ops/shape/shape.h"
#include "ops/table.h"
#include "symbol/passes/readers.h"
#include "symbol/passes/whole_rewriter.h"

namespace loomix {
namespace {

using ops::PackedClosing;
using ops::Range;
using ops::WholeKind;
using ops::WholeRole;

constexpr const char* kEmptyRange = "its calibrated range is empty";

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

class Packer final : public WholeRewriter {
 public:
  Packer(const Graph& graph, const ops::OpTable& table, const Inference& known)
      : WholeRewriter(graph, table, known),
        readers_(count_readers(graph, index_)),
        whole_(static_cast<size_t>(graph.size())),
        real_(static_cast<size_t>(graph.size())) {}

 private:
  std::optional<Whole>& at(NodeId id) { return whole_[static_cast<size_t>(id)]; }
  std::optional<Real>& real_of(NodeId id) { return real_[static_cast<size_t>(id)]; }
  bool has_one_reader(NodeId id) const { return readers_[static_cast<size_t>(index_(id, 0))] == 1; }

  WholeKind kind_of(NodeId id) const { return whole_role(graph_[id])->kind; }

  template <class P>
  ValueRef add(const char* op, P params, std::span<const ValueRef> inputs, NodeId like = -1) {
    return {result_.add_op(table_.at(op), make_attrs(std::move(params)), inputs,
                           like < 0 ? Ref<const NodeInfo>() : graph_[like].info),
            0};
  }

  // ---- values as others read them ----

  ValueRef made_plain(ValueRef value) override {
    if (const auto& real = real_of(value.node)) {
      const bool is_dequantize = graph_.inputs(value.node)[0].node == real->whole;
      return is_dequantize ? dequantized(value.node) : copied(value);
    }
    const auto& whole = at(value.node);
    if (!whole->is_rounded()) return copied(value);
    if (value.index == 0) return unpacked(packed(value.node), *whole, shape(value));
    return constant(value.index == 1 ? whole->range.low : whole->range.high);
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

  const char* take(NodeId id, const WholeRole& role) override {
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
      case WholeKind::alone: break;
    }
    return role.reason;
  }
  bool take_other(NodeId id) override { return take_clamp(id); }

  const char* take_quantize(NodeId id, const WholeRole& role) {
    if (dtype(graph_.inputs(id)[0]) != DType::float32) return "its data is not float32";
    if (role.range->reach() <= 0) return kEmptyRange;
    if (take_rounded_again(id, role)) return nullptr;
    at(id) = Whole{dtype({id, 0}), *role.range, shape({id, 0}), id};
    return nullptr;
  }

  const char* take_product(NodeId id, const WholeRole& role) {
    const Whole* const data = whole_input(id, 0, role);
    if (!data || !data->is_rounded()) return kUnknownRange;
    if (!has_held_parameters(graph_, id, role)) return kComputedWeight;
    if (shape({id, 0}).ndim() != shape(graph_.inputs(id)[1]).ndim())
      return "it works on the last axis alone (flatten=False)";
    if (!ops::packed_product(*graph_[id].attrs, data->image, data->type, {}))
      return data->image.size() == 0 ? "its data is empty" : "oneDNN has no kernel for it";
    at(id) = Whole{.image = shape({id, 0}), .source = id};
    return nullptr;
  }

  const char* take_requantize(NodeId id, const WholeRole& role) {
    const Whole* const sums = whole_input(id, 0, role);
    if (!sums || sums->is_rounded()) return "its data are not sums of a layer that is packed";
    if (role.range->reach() <= 0) return kEmptyRange;
    at(id) = Whole{dtype({id, 0}), *role.range, sums->image, sums->source};
    return nullptr;
  }

  const char* take_dequantize(NodeId id, const WholeRole& role) {
    if (!whole_input(id, 0, role)) return kUnknownRange;
    real_of(id) = Real{graph_.inputs(id)[0].node};
    return nullptr;
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

  const char* take_relu(NodeId id, const WholeRole& role) {
    const Whole* const data = whole_input(id, 0, role);
    if (!data || !data->is_rounded()) return kUnknownRange;
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
    return nullptr;
  }

  const char* take_flatten(NodeId id, const WholeRole& role) {
    const Whole* const data = whole_input(id, 0, role);
    if (!data || !data->is_rounded()) return kUnknownRange;
    Whole after = *data;
    after.made = packed(graph_.inputs(id)[0].node);
    at(id) = after;
    return nullptr;
  }

  // Rounded, and not flattened.
  bool is_as_it_was(const Whole* data, ValueRef value) const {
    return data && data->is_rounded() && data->image == shape(value);
  }

  const char* take_pooling(NodeId id, const WholeRole& role) {
    const ValueRef from = graph_.inputs(id)[0];
    const Whole* const data = whole_input(id, 0, role);
    if (!is_as_it_was(data, from)) return kUnknownRange;
    if (shape(from).ndim() != 4) return "only pooling of 2 axes has a packed form";
    ops::PackedPoolingParams p;
    static_cast<ops::PoolingParams&>(p) = graph_[id].attrs->as<ops::PoolingParams>();
    p.layout = ops::Layout::NHWC;
    Whole after{data->type, data->range, shape({id, 0})};
    after.made = add("_packed_pooling", std::move(p), std::initializer_list<ValueRef>{packed(from.node)}, id);
    at(id) = after;
    return nullptr;
  }

  const char* take_concat(NodeId id, const WholeRole& role) {
    const auto inputs = graph_.inputs(id).first(static_cast<size_t>(role.arrays));
    std::vector<Whole*> parts;
    for (int i = 0; i < role.arrays; ++i) {
      parts.push_back(whole_input(id, i, role));
      if (!is_as_it_was(parts.back(), inputs[static_cast<size_t>(i)])) return kUnknownRange;
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
    return nullptr;
  }

  const char* take_add(NodeId id, const WholeRole& role) {
    const auto inputs = graph_.inputs(id);
    const Whole *const a = whole_input(id, 0, role), *const b = whole_input(id, 1, role);
    if (!is_as_it_was(a, inputs[0]) || !is_as_it_was(b, inputs[1])) return kUnknownRange;
    if (role.range && role.range->reach() <= 0) return kEmptyRange;
    at(id) = Whole{dtype({id, 0}), role.range.value_or(Range{}), shape({id, 0}), id};
    return nullptr;
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
    const ValueRef prepared{result_.add_op(table_.at(form->prepare), form->prepare_attrs, {&weight, 1}), 0};
    result_[scale.node].held = result_[prepared.node].held = true;
    std::vector<ValueRef> read{packed(from), prepared, scale, {scale.node, 1}};
    if (added) read.push_back(packed(*added));
    return ValueRef{result_.add_op(table_.at(form->op), form->attrs, read, graph_[id].info), 0};
  }

  const std::vector<int> readers_;           // by value
  std::vector<std::optional<Whole>> whole_;  // by node: its output 0
  std::vector<std::optional<Real>> real_;    // by node: its output 0
};

}  // namespace

Graph pack_whole(const Graph& graph, const ops::OpTable& table, const Inference& known,
                 std::vector<WholeNote>* notes) {
  return Packer(graph, table, known).run({}, notes);
}

}  // namespace loomix
