// SPDX-License-Identifier: Apache-2.0
//
// Graphs: their nodes are works in their order. A node's handle is good for what was made of its graph, for as long as that graph is there.
#include "tests/standin/graphs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <utility>

#include <cuda.h>

namespace {

using namespace loomix::standin;

std::atomic<long> made{0}, set{0};

std::mutex mutex;
std::map<cudaGraphNode_t, size_t> places;  // of the nodes of graphs that are there, or are captured, in these

}  // namespace

struct CUgraph_st {
  Works works;
};
struct CUgraphExec_st {
  std::shared_ptr<const Works> works;
  const Works from;  // of the graph that it was made of
};

namespace loomix::standin {

Work copy_work(const cudaMemcpy3DParms& copy) {
  return {.run =
              [=] {
                for (size_t row = 0; row < copy.extent.height; ++row)
                  std::memmove(static_cast<char*>(copy.dstPtr.ptr) + row * copy.dstPtr.pitch,
                               static_cast<const char*>(copy.srcPtr.ptr) + row * copy.srcPtr.pitch,
                               copy.extent.width);
              },
          .label = {.kind = Kind::copy, .from = place_of(copy.srcPtr.ptr), .to = place_of(copy.dstPtr.ptr)},
          .launch = {},
          .copy = copy,
          .fill = {}};
}

Work fill_work(const cudaMemsetParams& fill) {
  return {.run = [=] { std::memset(fill.dst, static_cast<int>(fill.value), fill.width); },
          .label = {.kind = Kind::fill},
          .launch = {},
          .copy = {},
          .fill = fill};
}

bool all_joined(const Works& works, std::set<size_t> ends) {
  std::vector<bool> found(works.size());
  while (!ends.empty()) {
    const size_t last = *ends.rbegin();
    ends.erase(last);
    found[last] = true;
    ends.insert(works[last]->after.begin(), works[last]->after.end());
  }
  return std::ranges::find(found, false) == found.end();
}

void run(const Work& work, uint32_t call) {
  const auto begin = std::chrono::steady_clock::now();
  work.run();
  const Listener* const hears = listener.load();
  if (call != 0 && hears != nullptr && work.label.kind != Kind::call) hears->done(call, work.label, begin);
}

void play_graph(const Works& works, uint32_t call) {
  static std::atomic<unsigned> launches{0};
  const unsigned seed = ++launches;
  std::mt19937 random(seed);
  std::vector<size_t> missing;
  std::vector<std::vector<size_t>> followers(works.size());
  std::vector<size_t> ready;
  for (size_t i = 0; i < works.size(); ++i) {
    missing.push_back(works[i]->after.size());
    for (const size_t before : works[i]->after) followers[before].push_back(i);
    if (missing[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const auto next = seed % 2 == 0 ? std::ranges::max_element(ready)
                                    : ready.begin() + static_cast<ptrdiff_t>(random() % ready.size());
    const size_t i = *next;
    ready.erase(next);
    run(works[i]->work, call);
    for (const size_t follower : followers[i]) {
      if (--missing[follower] == 0) ready.push_back(follower);
    }
  }
}

cudaGraph_t make_graph(const Works& works) {
  const std::lock_guard lock(mutex);
  for (size_t i = 0; i < works.size(); ++i) places[works[i].get()] = i;
  return new CUgraph_st{works};
}

std::shared_ptr<const Works> works_of(cudaGraphExec_t graph) { return graph->works; }
long graphs_made() { return made.load(); }
long nodes_set() { return set.load(); }

namespace {

// Another work in the place of a node's. What was launched before keeps the one that it had.
bool replace(cudaGraphExec_t ready, cudaGraphNode_t node, Work work) {
  size_t place = 0;
  {
    const std::lock_guard lock(mutex);
    const auto found = places.find(node);
    if (found == places.end()) {
      note_error("a node of a graph that is not there was used");
      return false;
    }
    place = found->second;
  }
  if (place >= ready->from.size() || ready->from[place].get() != node ||
      node->work.label.kind != work.label.kind)
    return false;
  work.label.device = node->work.label.device;
  auto works = std::make_shared<Works>(*ready->works);
  (*works)[place] = std::make_shared<CUgraphNode_st>(std::move(work), node->after, node->before);
  ready->works = std::move(works);
  ++set;
  return true;
}

CUresult get_kernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  const Launch& launch = node->work.launch;
  *params = {};
  params->func = reinterpret_cast<CUfunction>(const_cast<std::type_info*>(launch.lambda));
  params->gridDimX = launch.blocks.x;
  params->gridDimY = launch.blocks.y;
  params->gridDimZ = launch.blocks.z;
  params->blockDimX = launch.threads.x;
  params->blockDimY = launch.threads.y;
  params->blockDimZ = launch.threads.z;
  params->kernelParams = reinterpret_cast<void**>(&node->work);  // to be handed on, not looked at
  return CUDA_SUCCESS;
}

CUresult set_kernel(CUgraphExec ready, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  const Work& work = *reinterpret_cast<const Work*>(params->kernelParams);
  return replace(ready, node, work) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace loomix::standin

extern "C" {

// How many nodes of graphs got other parameters, by themselves.
long loomix_standin_nodes_set() { return loomix::standin::nodes_set(); }

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long) {
  ++made;
  *ready = new CUgraphExec_st{std::make_shared<const Works>(graph->works), graph->works};
  return status();
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  {
    const std::lock_guard lock(mutex);
    for (const auto& node : graph->works) places.erase(node.get());
  }
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
// Has the same works as before, with other parameters. What was launched before keeps those that it had.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t ready, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  const auto same_place = [](const auto& a, const auto& b) {
    return a->work.label.kind == b->work.label.kind && a->after == b->after;
  };
  const bool same = std::ranges::equal(*ready->works, graph->works, same_place);
  info->result = same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
  if (!same) return cudaErrorGraphExecUpdateFailure;
  ready->works = std::make_shared<const Works>(graph->works);
  return status();
}
// Copies and fills can get others of one row.
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t ready, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* copy) {
  const bool plain = copy->extent.height == 1 && node->work.copy.extent.height == 1;
  return plain && loomix::standin::replace(ready, node, copy_work(*copy)) ? status() : cudaErrorInvalidValue;
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t ready, cudaGraphNode_t node,
                                             const cudaMemsetParams* fill) {
  return loomix::standin::replace(ready, node, fill_work(*fill)) ? status() : cudaErrorInvalidValue;
}
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* copy) {
  *copy = node->work.copy;
  return status();
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* fill) {
  *fill = node->work.fill;
  return status();
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* before, cudaGraphEdgeData*,
                                         size_t* count) {
  if (before != nullptr) std::ranges::copy(node->before, before);
  *count = node->before.size();
  return status();
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  constexpr cudaGraphNodeType kTypes[] = {cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemset,
                                          cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeHost};
  *type = kTypes[static_cast<size_t>(node->work.label.kind)];
  return status();
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  const std::string wanted = name;
  *function = nullptr;
  if (wanted == "cuGraphKernelNodeGetParams")
    *function = reinterpret_cast<void*>(&loomix::standin::get_kernel);
  if (wanted == "cuGraphExecKernelNodeSetParams")
    *function = reinterpret_cast<void*>(&loomix::standin::set_kernel);
  *result = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return status();
}

}  // extern "C"
