// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/device_traits.h"
#include "ops/table.h"
#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

// Makes a training graph keep less, until its values fit a number of bytes. Operators of the forward pass are *dropped*:
// gradients do not read what they made, but what a copy of them makes again, just before the first gradient that needs it.
// What a copy reads is kept, or made again in the same way.
//
// At first the choice is greedy: those that save the most bytes for their time, at the step that needs the most memory (as
// in Kirisame et al. 2021, "Dynamic tensor rematerialization", but made ahead). Where that ends too early, the forward pass
// is cut into segments, and all is dropped but what one segment leaves to later ones (Chen et al. 2016, "Training deep nets
// with sublinear memory cost").
//
// Operators that draw random numbers, change states or run the user's code never run again; those with OpDef::again have
// another operator that makes their first output.
class MemoryFitter {
 public:
  MemoryFitter(const ops::OpTable& table, const Graph& graph, const Inference& known,
               const engine::DeviceTraits& device = {});

  // Drops operators until bound() is at most `goal`. False, with the smallest bound that was found, if that cannot be
  // reached. A later goal must not be larger.
  bool reduce(int64_t goal);

  // The given graph, with copies of what was dropped.
  const Graph& graph() const { return now_.graph; }
  // The largest sum of values alive at one step of graph(), scratch memory aside: no plan takes less.
  int64_t bound() const { return bound_; }

 private:
  // The given graph with copies of what is dropped, and where its values are used in it.
  struct Rebuilt {
    Graph graph;
    Inference known;
    std::vector<NodeId> new_id;    // of each given node
    std::vector<NodeId> remade;    // the copy of each given node, or -1
    std::vector<int> given_value;  // of each value, or -1 for those of copies
  };
  // Steps of the rebuilt graph that use a given value, or a view of it.
  struct Life {
    NodeId last_forward = -1, first_backward = -1, last_backward = -1;
  };
  // Nodes to drop together, and what that saves at the peak.
  struct Candidate {
    std::vector<NodeId> nodes;
    int64_t bytes = 0;
    double cost_ns = 0;
  };

  bool can_drop(NodeId id, const std::vector<char>& mutated) const;
  bool is_view(NodeId id) const;
  bool is_dropped(ValueRef value) const;
  const ops::OpDef& remaking_op(NodeId id) const;
  std::vector<ValueRef> remaking_inputs(NodeId id) const;
  double cost_ns(NodeId id) const;
  int64_t bytes(ValueRef value) const;

  void rebuild();
  void add_given(NodeId id);
  void add_copies(NodeId reader);
  void note_values(NodeId made, NodeId given, bool is_copy);
  ValueRef moved(ValueRef value, bool prefer_copy) const;
  void measure();
  void measure_given();
  void find_lives(const std::vector<int>& roots);

  bool crosses_peak(ValueRef value) const;
  Candidate candidate(NodeId id) const;
  std::vector<NodeId> drop_some(int64_t wanted);
  void drop_greedily(int64_t goal);
  void drop_segments(int64_t goal);
  void cut(int64_t segment_bytes);
  void keep_again(int64_t goal);
  void use(std::vector<char> dropped);

  const ops::OpTable& table_;
  const engine::DeviceTraits device_;
  const Graph& given_;
  const Inference& known_;
  const ValueIndex index_;
  const int most_tries_;
  std::vector<char> is_output_;          // one a given value
  std::vector<int64_t> node_bytes_;      // that gradients need of each given node, if nothing is dropped
  std::vector<int64_t> crossing_bytes_;  // that forward nodes from each one on read of those before it
  std::vector<char> droppable_, dropped_, best_, barred_;  // one a given node; barred: was tried in vain
  int64_t bound_ = 0, best_bound_ = 0;
  NodeId peak_ = 0;
  Rebuilt now_;
  std::vector<Life> lives_;  // one a given value
};

}  // namespace loomix
