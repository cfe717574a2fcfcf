// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/standin/stream.h"

// What is captured. An update cannot change the kind.
namespace loomix::standin {

// A work, and what its node says of it: the launch of a kernel, or where it copies or fills.
struct Work {
  std::function<void()> run;
  Label label = {};
  Launch launch = {};
  cudaMemcpy3DParms copy = {};
  cudaMemsetParams fill = {};
};
Work copy_work(const cudaMemcpy3DParms& copy);
Work fill_work(const cudaMemsetParams& fill);
void run(const Work& work, uint32_t call);  // for the call of that number; 0: nobody listens

}  // namespace loomix::standin

// In its graph, with the numbers of the works that it waits for.
struct CUgraphNode_st {
  loomix::standin::Work work;
  std::set<size_t> after;
  std::vector<CUgraphNode_st*> before;  // these
};

namespace loomix::standin {

using Works = std::vector<std::shared_ptr<CUgraphNode_st>>;

// Whether all works come before these.
bool all_joined(const Works& works, std::set<size_t> ends);
// Does the works in an order that what they wait for allows: any one, or, each second time, what was captured last first.
void play_graph(const Works& works, uint32_t call);
cudaGraph_t make_graph(const Works& works);
std::shared_ptr<const Works> works_of(cudaGraphExec_t graph);
long graphs_made();  // ready for launches; not those that were updated
long nodes_set();    // whose parameters were set

}  // namespace loomix::standin
