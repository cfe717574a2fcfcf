// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/defer_scatter.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace loomix {
namespace {

constexpr NodeId kNobody = -1, kSeveral = -2;

class Deferrer {
 public:
  explicit Deferrer(Graph graph) : graph_(std::move(graph)), index_(graph_), user_(index_.size(), kNobody) {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      for (const ValueRef& input : graph_.inputs(id)) add_user(input, id);
    }
    for (const ValueRef& output : graph_.outputs) add_user(output, kSeveral);
  }

  // Backwards: a node that came before one of them may then come before the one before that, too.
  Graph run() {
    for (NodeId id = graph_.size() - 1; id >= 0; --id) {
      if (graph_[id].op && graph_[id].op->scatters && graph_[id].forward >= 0) defer(id);
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      for (ValueRef& input : graph_.inputs(id)) replace(input);
    }
    std::ranges::for_each(graph_.outputs, [&](ValueRef& output) { replace(output); });
    return std::move(graph_);
  }

 private:
  void add_user(ValueRef value, NodeId user) {
    NodeId& known = user_[index_[value]];
    known = known == kNobody ? user : kSeveral;
  }

  // The node that alone uses output `i` of the scattering node, if it scales it by the value that was scattered to.
  NodeId scales_output(NodeId scatter, int i) const {
    const NodeId user = user_[index_(scatter, i)];
    if (user < 0 || !graph_[user].op || !graph_[user].op->scales) return kNobody;
    const auto inputs = graph_.inputs(user);
    const auto scattered = graph_.inputs(graph_[scatter].forward);
    const bool fits = inputs[0] == ValueRef{scatter, i} && inputs[1] == scattered[static_cast<size_t>(i)];
    return fits ? user : kNobody;
  }

  // The scattering node and the first of the scaling ones change places; the others are left without users.
  void defer(NodeId id) {
    NodeId first = kNobody;
    std::vector<std::pair<NodeId, int>> scaling;
    for (int i = 0; i < graph_[id].num_outputs; ++i) {
      if (user_[index_(id, i)] == kNobody) continue;
      const NodeId user = scales_output(id, i);
      if (user < 0) return;
      if (first < 0) first = user;
      if (graph_[user].op != graph_[first].op || !(*graph_[user].attrs == *graph_[first].attrs)) return;
      scaling.emplace_back(user, i);
    }
    if (first < 0) return;
    const NodeId later = std::ranges::min(scaling).first;
    std::swap(graph_[id], graph_[later]);
    graph_[id].forward = graph_[later].forward;
    graph_.inputs(id)[0] = graph_.inputs(later)[0];
    graph_.inputs(id)[1] = {graph_[id].forward, 0};
    graph_.inputs(later)[0] = {id, 0};
    for (const auto& [user, i] : scaling) {
      if (user != later) graph_.inputs(user)[0] = {id, 0};
      instead_[{user, 0}] = {later, i};
    }
  }

  void replace(ValueRef& value) const {
    if (const auto at = instead_.find({value.node, value.index}); at != instead_.end()) value = at->second;
  }

  Graph graph_;
  const ValueIndex index_;    // of the graph as it was
  std::vector<NodeId> user_;  // of each value
  std::map<std::pair<NodeId, int>, ValueRef> instead_;
};

}  // namespace

Graph defer_scatter(Graph graph) { return Deferrer(std::move(graph)).run(); }

}  // namespace loomix
