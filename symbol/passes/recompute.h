// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "engine/device/device_traits.h"
#include "ops/table.h"
#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

// Lets the gradients of a graph keep less: what can be made from values that are kept anyway is made again, just before the
// first gradient that reads it. Of the values that are alive at step `peak`, those that save the most bytes for their time
// come first, as long as all take no more than `share` of the time that the whole graph takes, by the operators' estimates.
struct RecomputeRequest {
  const ops::OpTable& table;
  NodeId peak = 0;
  double share = 0;
  engine::DeviceTraits device = {};  // that the graph is for
};
Graph recompute(const Graph& graph, const Inference& known, const RecomputeRequest& request);

}  // namespace loomix
