// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "memplan/plan.h"
#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

// Memory of a graph's values, numbered as ValueIndex does, and behind them of the nodes' scratch memory, one a node; node
// numbers are the steps of the schedule.
struct GraphPlan {
  std::vector<int> root;       // the value in whose memory this one lies: itself as a rule
  std::vector<int64_t> begin;  // its first element there
  std::vector<char> elided;    // one a node: its outputs lie where its inputs do, so it need not run
  int num_parted = 0;          // those among them that join or cut arrays: see Parts
  std::vector<memplan::Value> values;
  memplan::Plan memory;
  bool planned(int value) const { return memory.offset[value] >= 0; }
};

// What the values take by each way of sharing memory.
struct PlannedBytes {
  int64_t naive = 0;  // every value in memory of its own
  int64_t inplace = 0;
  int64_t co_share = 0;
  int64_t both = 0;
  int64_t lower_bound = 0;  // of `both`
};

// Operators that join whole arrays, or cut one into pieces that lie in it as a whole (Concat along the first axis; along the channels
// of one image).
enum class Parts : uint8_t {
  copied,  // run
  in_place  // need not run, as far as nothing else decides where their inputs and outputs lie; with Options::inplace only
};

// `pinned`: values with memory of their own: variables, outputs, gradients that go to the user's arrays. Saved
// values that nobody reads get no memory. `scratch_bytes`: what each node needs while it runs; empty: it is not planned.
GraphPlan plan_memory(const Graph& graph, const Inference& known, std::span<const Device> devices,
                      std::span<const char> pinned, std::span<const int64_t> scratch_bytes,
                      const memplan::Options& options, Parts parts = Parts::copied);

}  // namespace loomix
