// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/place.h"

#include <optional>

#include "base/error.h"

namespace loomix {
namespace {

const std::string* group_of(const Node& node) {
  return node.info ? node.info->find("__ctx_group__") : nullptr;
}

Device device_of_group(const Graph& graph, NodeId id, const PlaceRequest& request) {
  const std::string& group = *group_of(graph[id]);
  const auto found = request.groups.find(group);
  if (found != request.groups.end()) return found->second;
  std::string known;
  for (const auto& [name, device] : request.groups) known += (known.empty() ? "'" : ", '") + name + "'";
  detail::throw_error<DeviceError>(
      "[Symbol.bind] node '{}' ({}) belongs to the ctx_group '{}', for which group2ctx names no device; it "
      "names {}.",
      graph.name_of(id), graph.op_name(id), group, known);
}

// Adds transfers while it copies a graph.
class Placer {
 public:
  Placer(const Graph& graph, const ops::OpTable& table, const PlaceRequest& request)
      : graph_(graph),
        copy_(*table.core().copy),
        no_attrs_(table.parse(copy_, {})),
        wanted_(assign_devices(graph, request)),
        changed_(mutated_variables(graph)),
        new_id_(static_cast<size_t>(graph.size())) {}

  Placement run(const PlaceRequest& request) {
    for (NodeId id = 0; id < graph_.size(); ++id) add(id);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueRef output = graph_.outputs[i];
      ValueRef moved{new_id_[output.node], output.index};
      if (!request.outputs.empty() && request.outputs[i].device != wanted_[output.node]) {
        const auto& [device, adds] = request.outputs[i];
        const NodeId forward = result_.graph[moved.node].forward;
        moved = append_copy(moved, device, forward);
        if (adds) moved = append_copy(moved, device, forward);
      }
      result_.graph.outputs.push_back(moved);
    }
    return std::move(result_);
  }

 private:
  void add(NodeId id) {
    const Node& node = graph_[id];
    std::vector<ValueRef> inputs;
    for (const ValueRef& input : graph_.inputs(id)) {
      const int position = static_cast<int>(inputs.size());
      inputs.push_back({new_id_[input.node], input.index});
      if (wanted_[input.node] == wanted_[id] || (node.op && node.op->is_shape_only(*node.attrs, position)))
        continue;
      if (mutates_input(graph_, id, position)) refuse(id, position);
      inputs.back() = moved(input, id);
    }
    new_id_[id] = result_.graph.add_copy(node, inputs);
    if (node.forward >= 0) result_.graph[new_id_[id]].forward = new_id_[node.forward];
    result_.devices.push_back(wanted_[id]);
  }

  // The value on the device of its user; copied once a device, unless it changes in between.
  ValueRef moved(ValueRef value, NodeId user) {
    const NodeId forward = graph_[user].forward >= 0 ? new_id_[graph_[user].forward] : -1;
    const ValueRef here{new_id_[value.node], value.index};
    if (changed_[value.node]) return append_copy(here, wanted_[user], forward);
    auto [at, fresh] = copies_.try_emplace({{value.node, value.index}, wanted_[user]});
    if (fresh) at->second = append_copy(here, wanted_[user], forward);
    return at->second;
  }

  ValueRef append_copy(ValueRef value, Device device, NodeId forward) {
    const NodeId id = result_.graph.add_op(copy_, no_attrs_, {&value, 1}, {}, forward);
    result_.devices.push_back(device);
    return {id, 0};
  }

  [[noreturn]] void refuse(NodeId id, int position) const {
    const Node& node = graph_[id];
    const NodeId forward = node.forward >= 0 ? node.forward : id;
    const std::string* const group = group_of(graph_[forward]);
    const NodeId variable = graph_.inputs(id)[static_cast<size_t>(position)].node;
    detail::throw_error<DeviceError>(
        "[Symbol.bind] node '{}' ({}) of ctx_group '{}' runs on {} and changes '{}', which lies on {}; both "
        "must be "
        "on one device.",
        graph_.name_of(forward), graph_.op_name(id), group ? *group : "", wanted_[id].to_string(),
        graph_.name_of(variable), wanted_[variable].to_string());
  }

  const Graph& graph_;
  const ops::OpDef& copy_;
  const Ref<const AttrsBase> no_attrs_;
  const std::vector<Device> wanted_;
  const std::vector<char> changed_;
  std::vector<NodeId> new_id_;
  std::map<std::pair<std::pair<NodeId, int>, Device>, ValueRef> copies_;
  Placement result_;
};

}  // namespace

std::vector<Device> assign_devices(const Graph& graph, const PlaceRequest& request) {
  std::vector<Device> devices(static_cast<size_t>(graph.size()), request.device);
  if (request.groups.empty()) return devices;
  std::vector<std::optional<Device>> known(static_cast<size_t>(graph.size()));
  for (const auto& [variable, device] : request.variables) known[variable] = device;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (known[id] || node.forward >= 0) continue;
    if (group_of(node)) {
      known[id] = device_of_group(graph, id, request);
    } else if (node.is_variable()) {
      known[id] = request.device;
    } else {
      for (const ValueRef& input : graph.inputs(id)) {
        if (!known[id]) known[id] = known[input.node];
      }
    }
  }
  for (NodeId id = graph.size() - 1; id >= 0; --id) {
    if (!known[id] || graph[id].forward >= 0) continue;
    for (const ValueRef& input : graph.inputs(id)) {
      if (!known[input.node]) known[input.node] = known[id];
    }
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].forward >= 0 && !known[id]) devices[id] = devices[graph[id].forward];
    else devices[id] = known[id].value_or(request.device);
  }
  return devices;
}

Placement place(const Graph& graph, const ops::OpTable& table, const PlaceRequest& request) {
  if (request.groups.empty()) return {graph, assign_devices(graph, request)};
  return Placer(graph, table, request).run(request);
}

bool is_transfer(const Graph& graph, std::span<const Device> devices, NodeId id) {
  const Node& node = graph[id];
  return node.op && !node.op->identity.empty() && node.num_inputs == 1 &&
         devices[graph.inputs(id)[0].node] != devices[id];
}

}  // namespace loomix
