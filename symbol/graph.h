// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"
#include "base/ref_counted.h"
#include "ops/op.h"

namespace loomix {

using NodeId = int32_t;

// One value of a graph: an output of a node. Of an operator, index counts the outputs of the schema (hidden ones
// included), then the saved values; a variable has output 0 only.
struct ValueRef {
  NodeId node = -1;
  int32_t index = 0;
  explicit operator bool() const { return node >= 0; }
  friend bool operator==(const ValueRef&, const ValueRef&) = default;
};

// What belongs to a node but never to its meaning: its name and the attributes that are not the operator's
// parameters. Immutable and shared by all graphs that hold the node.
class NodeInfo : public RefCounted {
 public:
  std::string name;
  TextPairs extra;  // sorted by key: `__ctx_group__` and the like; of a variable, whatever it was given
  std::string unknown_op;            // the operator's name where the table has none of that name
  std::vector<int> unknown_mutated;  // inputs that such an operator changes, as far as a file said so
  std::vector<std::pair<int, std::string>>
      gradients;  // of a gradient node: outputs that are gradients, their names
  // The value of `key` in `extra`; null if absent.
  const std::string* find(std::string_view key) const;
};

struct Node {
  const ops::OpDef* op = nullptr;  // null: a variable, or an operator that the table does not know
  Ref<const AttrsBase> attrs;
  Ref<const NodeInfo> info;  // may be empty for nodes without a name
  NodeId forward = -1;       // of a gradient node: the node whose gradient it computes
  uint32_t first_input = 0;  // in Graph's pool of inputs
  uint32_t num_inputs = 0;
  uint16_t num_outputs = 1;
  uint16_t num_saved = 0;
  bool held =
      false;  // runs when one of its inputs has changed, not in each pass; so its inputs are held, or variables

  bool is_variable() const { return !op && (!info || info->unknown_op.empty()); }
  bool is_unknown() const { return !op && !is_variable(); }
  int num_values() const { return num_outputs + num_saved; }
};

// Nodes in topological order: the inputs of a node come before it. A value type; copying copies two arrays and counts
// references. Passes take one and return one.
class Graph {
 public:
  NodeId add_variable(Ref<const NodeInfo> info = {});
  // Counts of outputs and saved values follow from the schema.
  NodeId add_op(const ops::OpDef& op, Ref<const AttrsBase> attrs, std::span<const ValueRef> inputs,
                Ref<const NodeInfo> info = {}, NodeId forward = -1);
  NodeId add_unknown(Ref<const NodeInfo> info, std::span<const ValueRef> inputs, int num_outputs);
  // A node of another graph with inputs of this one.
  NodeId add_copy(const Node& node, std::span<const ValueRef> inputs);

  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  Node& operator[](NodeId id) { return nodes_[id]; }
  std::span<const ValueRef> inputs(NodeId id) const {
    return {inputs_.data() + nodes_[id].first_input, nodes_[id].num_inputs};
  }
  std::span<ValueRef> inputs(NodeId id) {
    return {inputs_.data() + nodes_[id].first_input, nodes_[id].num_inputs};
  }
  ValueRef saved(NodeId id, int i) const { return {id, nodes_[id].num_outputs + i}; }
  // The node's name, else its operator's with its number: never empty.
  std::string name_of(NodeId id) const;
  // "null" for variables.
  std::string_view op_name(NodeId id) const;
  void reserve(int nodes) {
    nodes_.reserve(nodes);
    inputs_.reserve(2 * static_cast<size_t>(nodes));
  }

  std::vector<ValueRef> outputs;

 private:
  NodeId append(Node node, std::span<const ValueRef> inputs);
  std::vector<Node> nodes_;
  std::vector<ValueRef> inputs_;
};

// Numbers the values of a graph densely, so that passes can keep what they know in arrays.
class ValueIndex {
 public:
  explicit ValueIndex(const Graph& graph);
  int size() const { return first_.back(); }
  int operator[](ValueRef value) const { return first_[value.node] + value.index; }
  int operator()(NodeId node, int index) const { return first_[node] + index; }

 private:
  std::vector<int> first_;
};

// True for input `i` of the node if its operator writes to it (auxiliary states, optimizer states).
bool mutates_input(const Graph& graph, NodeId node, int i);

// One entry a node: true for variables that some operator changes.
std::vector<char> mutated_variables(const Graph& graph);

// The graph as text, one line a node, for people and for tests. `note` adds to a node's line.
std::string dump(const Graph& graph, const std::function<std::string(NodeId)>& note = {});

}  // namespace loomix
