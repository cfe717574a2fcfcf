// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

namespace loomix::ops {

struct NeighborSample {
  bool weighted;  // vertices are drawn by probabilities, which are an input of their own
  int num_args;
  int64_t num_hops = 1;
  int64_t num_neighbor = 2;
  int64_t max_num_vertices = 100;

  explicit NeighborSample(bool by_weights) : weighted(by_weights), num_args(fixed_inputs() + 1) {}
  int fixed_inputs() const { return weighted ? 2 : 1; }  // before the arrays of seeds
  int samples() const { return num_args - fixed_inputs(); }
  int outputs() const { return weighted ? 4 : 3; }  // of each array of seeds
};

template <bool Weighted>
struct NeighborSampleParams : NeighborSample {
  NeighborSampleParams() : NeighborSample(Weighted) {}
  static void fields(FieldList<NeighborSampleParams>& f) {
    using P = NeighborSampleParams;
    f("num_args", &P::num_args, "Number of inputs.")
        .required(Weighted ? "3" : "2")
        .at_least(Weighted ? 3 : 2)
        .type("int");
    f("num_hops", &P::num_hops, "How far from the seeds a vertex may be.").at_least(0).type("long");
    f("num_neighbor", &P::num_neighbor, "The most edges of a vertex that are followed.")
        .at_least(0)
        .type("long");
    f("max_num_vertices", &P::max_num_vertices, "The most vertices of a sample.").at_least(1).type("long");
  }
};

struct GraphCompactParams {
  int num_args = 2;
  bool return_mapping = false;
  std::vector<int64_t> graph_sizes;
  int graphs() const { return num_args / 2; }
  static void fields(FieldList<GraphCompactParams>& f) {
    using P = GraphCompactParams;
    f("num_args", &P::num_args, "Number of inputs: graphs, then as many arrays of vertices.")
        .required("2")
        .at_least(2)
        .type("int");
    f("return_mapping", &P::return_mapping,
      "Whether to give the edges' numbers in the large graph, too, after the others.")
        .required("False");
    f("graph_sizes", &P::graph_sizes, "Number of vertices of each graph.").required("(1,)");
  }
};

}  // namespace loomix::ops
