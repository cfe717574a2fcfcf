// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "ndarray/ndarray.h"
#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

// Runs one node of a graph, with one output of this shape and type.
using Evaluate = std::function<NDArray(const Node& node, std::span<const NDArray> inputs, const Shape& shape,
                                       DType dtype)>;

struct Simplified {
  Graph graph;
  // Arrays of variables that stand for constants which were computed here.
  std::vector<std::pair<Ref<const NodeInfo>, NDArray>> constants;
};

inline constexpr int64_t kMostConstantBytes = 1 << 20;  // of one value; larger ones are computed in each run

// Takes out work whose result is there already:
//  - nodes that compute the same from the same are merged into the first of them;
//  - nodes that change nothing go: copies and reshapes to the same shape, x * 1, x / 1, x + 0, x - 0, x ** 1, transposes
//    that cancel, dropouts where `training` is false;
//  - what depends on nothing but attributes is computed once.
// Left alone are nodes that draw random numbers or touch a variable that some operator changes; and the first `own_outputs`
// outputs of the graph keep the nodes that they have. Nodes are merged with `merge` only. Prunes what is left over.
Simplified simplify(const Graph& graph, const Inference& known, const Evaluate& evaluate, size_t own_outputs,
                    bool training, bool merge = true);

}  // namespace loomix
