// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/table.h"
#include "symbol/passes/infer.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/whole_input.h"
#include "symbol/passes/whole_note.h"

namespace loomix {

// What the passes over layers of 8 bits share: node by node, a layer is taken into the form of the pass, or copied with the values
// that it reads as users have them.
class WholeRewriter {
 public:
  WholeRewriter(const Graph& graph, const ops::OpTable& table, const Inference& known)
      : graph_(graph),
        table_(table),
        known_(known),
        index_(graph),
        plain_(static_cast<size_t>(index_.size())) {
    result_.reserve(graph.size());
  }
  virtual ~WholeRewriter() = default;

  // Notes say of each layer that is taken `taken`.
  Graph run(const WholeNote& taken, std::vector<WholeNote>* notes) {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      const auto role = whole_role(node);
      if (!role) {
        if (!take_other(id)) copy(id);
        continue;
      }
      const char* const refusal = role->kind == ops::WholeKind::alone ? role->reason : take(id, *role);
      if (refusal) copy(id);
      if (notes) notes->push_back(note_of(id, taken, refusal));
    }
    for (const ValueRef& output : graph_.outputs) result_.outputs.push_back(plain(output));
    return prune(result_);
  }

 protected:
  // Why a layer is not taken; nullptr if it is.
  virtual const char* take(NodeId id, const ops::WholeRole& role) = 0;
  // Whether another operator is.
  virtual bool take_other(NodeId) { return false; }
  // In the new graph, as users have it, from what was taken.
  virtual ValueRef made_plain(ValueRef value) = 0;

  const Shape& shape(ValueRef value) const { return known_.shapes[static_cast<size_t>(index_[value])]; }
  DType dtype(ValueRef value) const { return known_.dtypes[static_cast<size_t>(index_[value])]; }

  ValueRef plain(ValueRef value) {
    ValueRef& known = plain_[static_cast<size_t>(index_[value])];
    if (!known) known = made_plain(value);
    return known;
  }
  void set_plain(ValueRef value, ValueRef made) { plain_[static_cast<size_t>(index_[value])] = made; }

  void copy(NodeId id) {
    std::vector<ValueRef> inputs;
    for (const ValueRef& input : graph_.inputs(id)) inputs.push_back(plain(input));
    const NodeId made = result_.add_copy(graph_[id], inputs);
    for (int i = 0; i < graph_[id].num_values(); ++i) set_plain({id, i}, {made, i});
  }
  ValueRef copied(ValueRef value) {
    copy(value.node);
    return plain(value);
  }

  const Graph& graph_;
  const ops::OpTable& table_;
  const Inference& known_;
  const ValueIndex index_;
  Graph result_;

 private:
  WholeNote note_of(NodeId id, const WholeNote& taken, const char* refusal) const {
    WholeNote note = taken;
    if (refusal) note = {.runs = WholeNote::Runs::alone, .reason = refusal};
    note.name = graph_.name_of(id);
    note.op = graph_.op_name(id);
    return note;
  }

  std::vector<ValueRef> plain_;  // by value
};

}  // namespace loomix
