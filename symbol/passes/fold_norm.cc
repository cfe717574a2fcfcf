// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/fold_norm.h"

#include <algorithm>

#include "base/error.h"
#include "ops/table.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/readers.h"

namespace loomix {
namespace {

class Folder {
 public:
  Folder(const Graph& graph, const ops::OpTable& table, const Inference& known)
      : graph_(graph),
        table_(table),
        known_(known),
        index_(graph),
        instead_(static_cast<size_t>(index_.size())),
        readers_(count_readers(graph, index_)) {
    result_.reserve(graph.size());
  }

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (fold(id)) continue;
      const NodeId made = result_.add_copy(graph_[id], moved(graph_.inputs(id)));
      for (int i = 0; i < graph_[id].num_values(); ++i) at(ValueRef{id, i}) = {made, i};
    }
    result_.outputs = moved(graph_.outputs);
    return prune(result_);
  }

 private:
  int readers(ValueRef value) const { return readers_[static_cast<size_t>(index_[value])]; }
  ValueRef& at(ValueRef value) { return instead_[static_cast<size_t>(index_[value])]; }
  const Shape& shape(ValueRef value) const { return known_.shapes[static_cast<size_t>(index_[value])]; }

  std::vector<ValueRef> moved(std::span<const ValueRef> values) {
    std::vector<ValueRef> all;
    for (const ValueRef& value : values) all.push_back(at(value));
    return all;
  }

  ValueRef held(const char* op, std::initializer_list<ValueRef> inputs, const TextPairs& attrs = {}) {
    const ops::OpDef& def = table_.at(op);
    const NodeId id = result_.add_op(def, table_.parse(def, attrs), {inputs.begin(), inputs.size()});
    result_[id].held = true;
    return {id, 0};
  }

  DType dtype(ValueRef value) const { return known_.dtypes[static_cast<size_t>(index_[value])]; }

  ValueRef cast(ValueRef made, DType from, DType to) {
    return from == to ? made : held("Cast", {made}, {{"dtype", std::string(name_of(to))}});
  }
  ValueRef in(DType type, ValueRef parameter) { return cast(at(parameter), dtype(parameter), type); }

  bool is_parameter(ValueRef value) const {
    const Node& node = graph_[value.node];
    return (node.is_variable() || node.held) &&
           (dtype(value) == DType::float32 || dtype(value) == DType::bfloat16);
  }

  bool fold(NodeId id) {
    const Node& node = graph_[id];
    if (!node.op || !node.op->channel_norm) return false;
    const auto norm = node.op->channel_norm(*node.attrs);
    const auto given = graph_.inputs(id);
    const ValueRef before = given[0];
    const Node& linear = graph_[before.node];
    if (!norm || norm->axis != 1 || !linear.op || !linear.op->with_bias || readers(before) > 1) return false;
    for (int i = 1; i < node.num_outputs; ++i) {
      if (readers({id, i}) > 0) return false;
    }
    const auto terms = graph_.inputs(before.node);
    const auto is_statistic = [&](ValueRef v) {
      return graph_[v.node].is_variable() && dtype(v) == DType::float32;
    };
    if (!std::ranges::all_of(given.subspan(1), is_statistic) ||
        !std::ranges::all_of(terms.subspan(1), [&](ValueRef v) { return is_parameter(v); }))
      return false;
    Ref<const AttrsBase> attrs = linear.op->with_bias(*linear.attrs);
    if (!attrs || (shape(before).ndim() != shape(terms[1]).ndim())) return false;

    const ValueRef gamma = at(given[1]), beta = at(given[2]), mean = at(given[3]), var = at(given[4]);
    ValueRef scale = held("rsqrt", {held("_plus_scalar", {var}, {{"scalar", fmt::format("{}", norm->eps)}})});
    if (!norm->fix_gamma) scale = held("elemwise_mul", {gamma, scale});
    std::string column = "(-1";
    for (int i = 1; i < shape(terms[1]).ndim(); ++i) column += ", 1";
    // In float32, rounded once where the layer computes in a shorter type.
    const ValueRef weight = held(
        "broadcast_mul", {in(DType::float32, terms[1]), held("Reshape", {scale}, {{"shape", column + ")"}})});
    ValueRef bias = held("elemwise_sub", {beta, held("elemwise_mul", {mean, scale})});
    if (terms.size() > 2)
      bias = held("elemwise_add", {bias, held("elemwise_mul", {in(DType::float32, terms[2]), scale})});
    const DType layer = dtype(before);
    const ValueRef inputs[] = {at(terms[0]), cast(weight, DType::float32, layer),
                               cast(bias, DType::float32, layer)};
    at({id, 0}) = {result_.add_op(*linear.op, std::move(attrs), inputs, linear.info), 0};
    return true;
  }

  const Graph& graph_;
  const ops::OpTable& table_;
  const Inference& known_;
  const ValueIndex index_;
  std::vector<ValueRef> instead_;
  std::vector<int> readers_;
  Graph result_;
};

}  // namespace

Graph fold_norm(const Graph& graph, const ops::OpTable& table, const Inference& known) {
  return Folder(graph, table, known).run();
}

}  // namespace loomix
