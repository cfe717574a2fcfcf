// SPDX-License-Identifier: Apache-2.0
#include "symbol/close_convolutions.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/packed_weight.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/readers.h"

namespace loomix {
namespace {

class Closer {
 public:
  Closer(const Graph& graph, const Inference& known, int cores)
      : graph_(graph),
        known_(known),
        cores_(cores),
        index_(graph),
        readers_(count_readers(graph, index_)),
        instead_(static_cast<size_t>(index_.size())) {}

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (close(id)) continue;
      std::vector<ValueRef> inputs;
      for (const ValueRef& input : graph_.inputs(id)) inputs.push_back(at(input));
      const NodeId made = result_.add_copy(graph_[id], inputs);
      closings_.emplace_back();
      for (int i = 0; i < graph_[id].num_values(); ++i) at({id, i}) = {made, i};
    }
    for (const ValueRef& output : graph_.outputs) result_.outputs.push_back(at(output));
    for (NodeId id = 0; id < result_.size(); ++id) note(id);
    return prune(result_);
  }

 private:
  ValueRef& at(ValueRef value) { return instead_[static_cast<size_t>(index_[value])]; }
  size_t place(ValueRef value) const { return static_cast<size_t>(index_[value]); }

  // Whether the value is that of a convolution that this pass can still add to.
  bool is_open(ValueRef value, bool for_sum) {
    const ops::ConvClosing& closing = closings_[static_cast<size_t>(at(value).node)];
    return readers_[place(value)] == 1 && is_packed(value.node) && !closing.relu && !(for_sum && closing.add);
  }

  bool is_packed(NodeId id) const {
    const Node& node = graph_[id];
    if (is_closed(id)) return true;
    if (!node.op || node.op->kernels.empty() ||
        std::string_view(node.op->kernels[0].name) != ops::kConvPacked)
      return false;
    std::vector<TensorView> in, out;
    const auto view = [&](ValueRef v) {
      return TensorView{nullptr, known_.dtypes[place(v)], known_.shapes[place(v)]};
    };
    for (const ValueRef& input : graph_.inputs(id)) in.push_back(view(input));
    out.push_back(view({id, 0}));
    const ops::Req req[] = {ops::Req::write};
    const ops::KernelSpec spec{in, out, req, false, cores_};
    return bool(node.op->kernels[0].support(*node.attrs, spec));
  }
  // What became part of a convolution may be followed by more.
  bool is_closed(NodeId id) const { return std::find(closed_.begin(), closed_.end(), id) != closed_.end(); }

  static bool is_relu(const Node& node) {
    if (!node.op->clamp) return false;
    const std::optional<ops::Clamp> clamp = node.op->clamp(*node.attrs);
    return clamp && clamp->is_relu();
  }

  bool close(NodeId id) {
    const Node& node = graph_[id];
    if (!node.op || node.num_values() != 1) return false;
    const auto inputs = graph_.inputs(id);
    if (is_relu(node) && graph_[inputs[0].node].op && is_open(inputs[0], false)) {
      at({id, 0}) = at(inputs[0]);
      closed_.push_back(id);
      closings_[static_cast<size_t>(at(inputs[0]).node)].relu = true;
      return true;
    }
    const bool sums =
        inputs.size() == 2 && (node.op->name == "elemwise_add" || node.op->name == "broadcast_add");
    if (!sums || known_.shapes[place(inputs[0])] != known_.shapes[place(inputs[1])] || inputs[0] == inputs[1])
      return false;
    for (const int i : {0, 1}) {
      const ValueRef conv = inputs[static_cast<size_t>(i)], other = inputs[static_cast<size_t>(1 - i)];
      if (!is_open(conv, true) || at(other).node >= at(conv).node || at(conv).index != 0) continue;
      const NodeId made = at(conv).node;
      std::vector<ValueRef> more(result_.inputs(made).begin(), result_.inputs(made).end());
      more.push_back(at(other));
      moved(made, more);
      at({id, 0}) = at(conv);
      closings_[static_cast<size_t>(at(conv).node)].add = true;
      closed_.push_back(id);
      return true;
    }
    return false;
  }

  // Makes a node once more at the end, with other inputs; nothing reads the old one, which prune() takes away.
  void moved(NodeId made, std::span<const ValueRef> inputs) {
    const NodeId again = result_.add_copy(Node(result_[made]), inputs);
    closings_.push_back(closings_[static_cast<size_t>(made)]);
    for (ValueRef& value : instead_) {
      if (value.node == made) value.node = again;
    }
  }

  // Writes the closing into the node's info.
  void note(NodeId id) {
    const ops::ConvClosing& closing = closings_[static_cast<size_t>(id)];
    if (!closing.add && !closing.relu) return;
    auto info = make_ref<NodeInfo>();
    info->name = result_.name_of(id);
    info->extra = {{kClosingKey, !closing.add ? "relu" : closing.relu ? "add relu" : "add"}};
    result_[id].info = std::move(info);
  }

  const Graph& graph_;
  const Inference& known_;
  const int cores_;
  const ValueIndex index_;
  std::vector<int> readers_;
  std::vector<ValueRef> instead_;
  std::vector<NodeId> closed_;
  std::vector<ops::ConvClosing> closings_;  // by node of the result
  Graph result_;
};

}  // namespace

Graph close_convolutions(const Graph& graph, const Inference& known, int cores) {
  return Closer(graph, known, cores).run();
}

}  // namespace loomix
