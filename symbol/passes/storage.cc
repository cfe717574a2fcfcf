// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/storage.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/inline_vector.h"

namespace loomix {
namespace {

constexpr const char* kCast = "cast_storage";

class Assigner {
 public:
  Assigner(const Placement& placed, const ops::OpTable& table, const StorageRequest& request)
      : graph_(placed.graph),
        devices_(placed.devices),
        table_(table),
        cast_(table.at(kCast)),
        request_(request),
        new_id_(static_cast<size_t>(graph_.size())),
        index_(graph_),
        wanted_(static_cast<size_t>(index_.size()), StorageType::undefined),
        stypes_(static_cast<size_t>(index_.size()), StorageType::dense) {
    for (size_t i = 0; i < graph_.outputs.size(); ++i)
      wanted_[static_cast<size_t>(index_[graph_.outputs[i]])] = request.outputs[i];
  }

  Stored run() {
    for (NodeId id = 0; id < graph_.size(); ++id) add(id);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueRef output = graph_.outputs[i];
      ValueRef moved{new_id_[output.node], output.index};
      const StorageType wanted = request_.outputs[i];
      if (wanted != StorageType::undefined && wanted != stype_of(output))
        moved = append_cast(moved, wanted, output.node, graph_[output.node].forward);
      result_.graph.outputs.push_back(moved);
    }
    return std::move(result_);
  }

 private:
  StorageType& stype_of(ValueRef value) { return stypes_[static_cast<size_t>(index_[value])]; }

  void add(NodeId id) {
    const Node& node = graph_[id];
    std::vector<ValueRef> inputs;
    for (const ValueRef& input : graph_.inputs(id)) inputs.push_back({new_id_[input.node], input.index});
    if (node.is_variable()) stype_of({id, 0}) = request_.variables[id];
    else decide(id, inputs);
    new_id_[id] = result_.graph.add_copy(node, inputs);
    if (node.forward >= 0) result_.graph[new_id_[id]].forward = new_id_[node.forward];
    result_.devices.push_back(devices_[id]);
    for (int i = 0; i < node.num_values(); ++i) result_.stypes.push_back(stype_of({id, i}));
  }

  // Sets the storage types of the node's outputs; inputs that have to be dense are replaced.
  void decide(NodeId id, std::vector<ValueRef>& inputs) {
    const Node& node = graph_[id];
    const auto given = graph_.inputs(id);
    InlineVector<StorageType, 6> stypes;
    for (const ValueRef& input : given) stypes.push_back(stype_of(input));
    for (int i = 0; i < node.num_outputs; ++i) stypes.push_back(wanted_[static_cast<size_t>(index_(id, i))]);
    if (request_.rule(id, stypes)) {
      for (int i = 0; i < node.num_outputs; ++i)
        stype_of({id, i}) = stypes[given.size() + static_cast<size_t>(i)];
      return;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (stype_of(given[i]) == StorageType::dense) continue;
      LOOMIX_CHECK(!mutates_input(graph_, id, static_cast<int>(i)), NotImplementedError,
                   "[Symbol.bind] node '{}' ({}) changes its input {}, which is {}; expected a dense array.",
                   graph_.name_of(id), graph_.op_name(id), i, name_of(stype_of(given[i])));
      auto [at, fresh] = dense_.try_emplace({given[i].node, given[i].index});
      if (fresh) {
        const NodeId forward = node.forward >= 0 ? new_id_[node.forward] : -1;
        at->second = append_cast(inputs[i], StorageType::dense, given[i].node, forward);
      }
      inputs[i] = at->second;
    }
  }

  ValueRef append_cast(ValueRef value, StorageType stype, NodeId source, NodeId forward) {
    const Ref<const AttrsBase> attrs = table_.parse(cast_, {{"stype", name_of(stype)}});
    const NodeId id = result_.graph.add_op(cast_, attrs, {&value, 1}, {}, forward);
    result_.devices.push_back(devices_[source]);
    result_.stypes.push_back(stype);
    return {id, 0};
  }

  const Graph& graph_;
  const std::vector<Device>& devices_;
  const ops::OpTable& table_;
  const ops::OpDef& cast_;
  const StorageRequest& request_;
  std::vector<NodeId> new_id_;
  const ValueIndex index_;
  std::vector<StorageType> wanted_;  // of the values of graph_
  std::vector<StorageType> stypes_;
  std::map<std::pair<NodeId, int>, ValueRef> dense_;  // values that were made dense
  Stored result_;
};

}  // namespace

Stored assign_storage(const Placement& placed, const ops::OpTable& table, const StorageRequest& request) {
  return Assigner(placed, table, request).run();
}

}  // namespace loomix
