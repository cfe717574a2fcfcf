// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/simplify.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/readers.h"

namespace loomix {
namespace {

bool same_group(const Node& a, const Node& b) {
  const std::string* first = a.info ? a.info->find("__ctx_group__") : nullptr;
  const std::string* second = b.info ? b.info->find("__ctx_group__") : nullptr;
  return first && second ? *first == *second : first == second;
}

// Axis i of the output is axis order[i] of the input; empty if the node is no permutation of axes.
std::vector<int> order_of(const Node& node, int ndim) {
  if (!node.op || !node.op->axes_order || ndim < 0) return {};
  return node.op->axes_order(*node.attrs, ndim);
}

// One sweep from the inputs on. Nodes keep their numbers while it lasts: what goes is no longer anybody's input.
class Simplifier {
 public:
  Simplifier(const Graph& graph, const Inference& known, const Evaluate& evaluate, size_t own_outputs,
             bool training, bool merge)
      : graph_(graph),
        index_(graph),
        known_(known),
        evaluate_(evaluate),
        training_(training),
        merge_(merge),
        readers_(count_readers(graph, index_)),
        changed_(mutated_variables(graph)),
        is_output_(graph.size(), false),
        constant_(graph.size(), false),
        arrays_(graph.size()) {
    result_.graph = graph;
    for (size_t i = 0; i < own_outputs; ++i) is_output_[graph.outputs[i].node] = true;
    for (NodeId id = 0; id < graph.size(); ++id) {
      for (int i = 0; i < graph[id].num_values(); ++i) instead_.push_back({id, i});
    }
  }

  Simplified run() {
    for (NodeId id = 0; id < graph_.size(); ++id) visit(id);
    for (ValueRef& output : result_.graph.outputs) {
      output = instead_[index_[output]];
      if (constant_[output.node]) make_variable(output.node);
    }
    result_.graph = prune(result_.graph);
    return std::move(result_);
  }

 private:
  void visit(NodeId id) {
    const auto inputs = result_.graph.inputs(id);
    for (ValueRef& input : inputs) input = instead_[index_[input]];
    const Node& node = graph_[id];
    if (node.is_variable()) return;
    constant_[id] = is_constant(id);
    if (constant_[id]) return;  // computed when somebody needs it
    for (const ValueRef& input : inputs) {
      if (constant_[input.node]) make_variable(input.node);
    }
    if (!node.op || node.op->impure) return;
    if (std::ranges::any_of(inputs, [&](ValueRef v) { return changed_[v.node] != 0; })) return;
    if (!is_output_[id] && is_idle(id)) {
      instead_[index_(id, 0)] = inputs[0];
      return;
    }
    if (node.op->random_numbers) return;
    if (is_output_[id]) {
      if (merge_ && !inputs.empty()) first_of_its_kind(id);
    } else if (const auto same = unchanged_input(id)) {
      instead_[index_(id, 0)] = *same;
    } else if (merge_ && !inputs.empty()) {
      const NodeId first = first_of_its_kind(id);
      for (int i = 0; i < node.num_values(); ++i) instead_[index_(id, i)] = {first, i};
    }
  }

  bool is_known(NodeId id) const {
    return static_cast<int>(known_.shapes.size()) == index_.size() &&
           known_.shapes[index_(id, 0)].is_known() && known_.dtypes[index_(id, 0)] != DType::unknown;
  }

  bool is_constant(NodeId id) const {
    const Node& node = graph_[id];
    if (!evaluate_ || !node.op || node.num_values() != 1 || is_output_[id] || !is_known(id)) return false;
    if (node.op->random_numbers || node.op->training_matters || node.op->data_dependent || node.op->impure)
      return false;
    const auto value = static_cast<size_t>(index_(id, 0));
    if (known_.shapes[value].size() > kMostConstantBytes / size_of(known_.dtypes[value])) return false;
    return std::ranges::all_of(result_.graph.inputs(id), [&](ValueRef v) { return constant_[v.node] != 0; });
  }

  const NDArray& compute(NodeId wanted) {
    std::vector<NodeId> left{wanted};  // not by recursion: a chain may be long
    std::vector<NDArray> inputs;
    while (!left.empty()) {
      const NodeId id = left.back();
      const size_t known = left.size();
      inputs.clear();
      if (arrays_[id].is_none()) {
        for (const ValueRef& input : result_.graph.inputs(id)) {
          inputs.push_back(arrays_[input.node]);
          if (inputs.back().is_none()) left.push_back(input.node);
        }
        if (left.size() > known) continue;
        const auto value = static_cast<size_t>(index_(id, 0));
        arrays_[id] = evaluate_(graph_[id], inputs, known_.shapes[value], known_.dtypes[value]);
      }
      left.pop_back();
    }
    return arrays_[wanted];
  }

  // The constant's node becomes a variable, which has the array.
  void make_variable(NodeId id) {
    Node& node = result_.graph[id];
    if (node.is_variable()) return;
    const NDArray& array = compute(id);
    auto info = make_ref<NodeInfo>();
    info->name = "constant " + graph_.name_of(id);
    result_.constants.emplace_back(info, array);
    node.op = nullptr;
    node.attrs.reset();
    node.info = std::move(info);
    node.num_inputs = 0;
    node.forward = -1;
  }

  bool is_same_kind(ValueRef value, NodeId id) const {
    const auto a = static_cast<size_t>(index_[value]), b = static_cast<size_t>(index_(id, 0));
    return known_.shapes[a] == known_.shapes[b] && known_.dtypes[a] == known_.dtypes[b];
  }

  // The value of every element, where that is clear.
  std::optional<double> filled_with(ValueRef value) const {
    const Node& node = graph_[value.node];
    if (!node.op) return {};
    if (!node.op->fill) return {};
    return node.op->fill(*node.attrs);
  }

  // The input that the node's one output is equal to.
  std::optional<ValueRef> unchanged_input(NodeId id) const {
    const Node& node = graph_[id];
    const auto inputs = result_.graph.inputs(id);
    if (node.num_values() != 1 || inputs.empty() || !is_known(id)) return {};
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (is_same_kind(inputs[i], id) && gives_back(node, inputs, i)) return inputs[i];
    }
    const Node& before = result_.graph[inputs[0].node];
    const auto second = order_of(node, known_.shapes[index_(id, 0)].ndim());
    const auto first = order_of(before, static_cast<int>(second.size()));
    if (first.empty()) return {};
    for (size_t i = 0; i < second.size(); ++i) {
      if (first[static_cast<size_t>(second[i])] != static_cast<int>(i)) return {};
    }
    const ValueRef source = result_.graph.inputs(inputs[0].node)[0];
    if (changed_[source.node]) return {};
    return source;
  }

  bool is_idle(NodeId id) const {
    const Node& node = graph_[id];
    if (!node.op->is_idle || !node.op->is_idle(*node.attrs, training_)) return false;
    for (int i = 1; i < node.num_values(); ++i) {
      if (readers_[static_cast<size_t>(index_(id, i))] > 0) return false;
    }
    return true;
  }

  bool gives_back(const Node& node, std::span<const ValueRef> inputs, size_t i) const {
    const int position = node.op->schema_position(*node.attrs, static_cast<int>(i));
    if (!node.op->identity.empty() && node.op->identity[0].first == position) return true;
    if (!node.op->neutral) return false;
    if (node.op->scalar) return node.op->scalar(*node.attrs) == *node.op->neutral;
    return (i == 0 || node.op->commutes) && filled_with(inputs[1 - i]) == *node.op->neutral;
  }

  size_t hash_of(NodeId id) const {
    size_t hash = reinterpret_cast<size_t>(graph_[id].op) ^ graph_[id].attrs->hash();
    for (const ValueRef& input : result_.graph.inputs(id)) {
      hash = hash * 1000003 + static_cast<size_t>(input.node) * 31 + static_cast<size_t>(input.index);
    }
    return hash;
  }

  NodeId first_of_its_kind(NodeId id) {
    const auto same = [&](NodeId other) {
      const Node& a = graph_[id];
      const Node& b = graph_[other];
      return a.op == b.op && *a.attrs == *b.attrs && same_group(a, b) &&
             std::ranges::equal(result_.graph.inputs(id), result_.graph.inputs(other));
    };
    const size_t hash = hash_of(id);
    for (auto [at, end] = seen_.equal_range(hash); at != end; ++at) {
      if (same(at->second)) return at->second;
    }
    seen_.emplace(hash, id);
    return id;
  }

  const Graph& graph_;
  const ValueIndex index_;
  const Inference& known_;
  const Evaluate& evaluate_;
  const bool training_, merge_;
  const std::vector<int> readers_;  // by value
  const std::vector<char> changed_;
  std::vector<char> is_output_;
  std::vector<char> constant_;     // depends on nothing but attributes, and is small
  std::vector<NDArray> arrays_;    // of constants that were computed
  std::vector<ValueRef> instead_;  // by value: what is used in its place
  std::unordered_multimap<size_t, NodeId> seen_;
  Simplified result_;
};

}  // namespace

Simplified simplify(const Graph& graph, const Inference& known, const Evaluate& evaluate, size_t own_outputs,
                    bool training, bool merge) {
  return Simplifier(graph, known, evaluate, own_outputs, training, merge).run();
}

}  // namespace loomix
