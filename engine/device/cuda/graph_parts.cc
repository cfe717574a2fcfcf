// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/graph_parts.h"

#include <algorithm>
#include <array>

#include <cuda.h>

namespace loomix::engine {
namespace {

// The runtime knows kernels of its own only; the driver knows those of libraries, too.
struct Driver {
  decltype(&cuGraphKernelNodeGetParams) get = nullptr;
  decltype(&cuGraphExecKernelNodeSetParams) set = nullptr;
};

template <class Function>
void find(const char* name, Function& function) {
  constexpr unsigned kVersion = 12000;  // of these functions' parameters
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  if (cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &result) == cudaSuccess &&
      result == cudaDriverEntryPointSuccess)
    function = reinterpret_cast<Function>(found);
  else cudaGetLastError();  // later calls must not see it
}

const Driver& driver() {
  static const Driver found = [] {
    Driver made;
    find("cuGraphKernelNodeGetParams", made.get);
    find("cuGraphExecKernelNodeSetParams", made.set);
    return made;
  }();
  return found;
}

using Nodes = std::vector<cudaGraphNode_t>;

bool succeeded(cudaError_t status) {
  if (status != cudaSuccess) cudaGetLastError();  // later calls must not see it
  return status == cudaSuccess;
}

// What the next node on the stream will wait for. False if the stream does not tell.
bool ends_of(cudaStream_t stream, Nodes& ends) {
  cudaStreamCaptureStatus status{};
  const cudaGraphNode_t* found = nullptr;
  size_t count = 0;
  ends.clear();
  if (!succeeded(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &found, nullptr, &count)) ||
      status != cudaStreamCaptureStatusActive)
    return false;
  ends.assign(found, found + count);
  std::ranges::sort(ends);
  return true;
}

bool dependencies_of(cudaGraphNode_t node, Nodes& before) {
  size_t count = 0;
  if (!succeeded(cudaGraphNodeGetDependencies(node, nullptr, nullptr, &count))) return false;
  before.resize(count);
  if (count > 0 && !succeeded(cudaGraphNodeGetDependencies(node, before.data(), nullptr, &count)))
    return false;
  std::ranges::sort(before);
  return true;
}

bool same_launch(const CUDA_KERNEL_NODE_PARAMS& a, const CUDA_KERNEL_NODE_PARAMS& b) {
  const auto shape = [](const CUDA_KERNEL_NODE_PARAMS& p) {
    return std::array{p.gridDimX,  p.gridDimY,  p.gridDimZ,      p.blockDimX,
                      p.blockDimY, p.blockDimZ, p.sharedMemBytes};
  };
  return a.func == b.func && a.kern == b.kern && shape(a) == shape(b);
}

// Attributes of launches, such as clusters, are no parameters: they stay as they were. So the kernel and its grid must, too.
bool set_kernel(cudaGraphExec_t ready, cudaGraphNode_t node, cudaGraphNode_t latest, cudaGraphNode_t fresh) {
  if (driver().get == nullptr || driver().set == nullptr) return false;
  CUDA_KERNEL_NODE_PARAMS before{};
  CUDA_KERNEL_NODE_PARAMS now{};
  return driver().get(latest, &before) == CUDA_SUCCESS && driver().get(fresh, &now) == CUDA_SUCCESS &&
         same_launch(before, now) && driver().set(ready, node, &now) == CUDA_SUCCESS;
}

bool set_node(cudaGraphExec_t ready, cudaGraphNode_t node, cudaGraphNode_t latest, cudaGraphNode_t fresh) {
  cudaGraphNodeType before{};
  cudaGraphNodeType type{};
  if (!succeeded(cudaGraphNodeGetType(latest, &before)) || !succeeded(cudaGraphNodeGetType(fresh, &type)) ||
      before != type)
    return false;
  cudaMemcpy3DParms copy{};
  cudaMemsetParams fill{};
  switch (type) {
    case cudaGraphNodeTypeKernel: return set_kernel(ready, node, latest, fresh);
    case cudaGraphNodeTypeMemcpy:
      return succeeded(cudaGraphMemcpyNodeGetParams(fresh, &copy)) &&
             succeeded(cudaGraphExecMemcpyNodeSetParams(ready, node, &copy));
    case cudaGraphNodeTypeMemset:
      return succeeded(cudaGraphMemsetNodeGetParams(fresh, &fill)) &&
             succeeded(cudaGraphExecMemsetNodeSetParams(ready, node, &fill));
    default: return false;
  }
}

}  // namespace

void GraphParts::begin(cudaStream_t stream) {
  parts_.emplace_back();
  parts_.back().is_chain = ends_of(stream, before_);
}

// Back from what came last: each node waits for the one before it alone, up to what was there at the part's begin.
void GraphParts::end(cudaStream_t stream) {
  Part& part = parts_.back();
  Nodes last;
  part.is_chain = part.is_chain && ends_of(stream, last);
  while (part.is_chain && last != before_) {
    part.is_chain = last.size() == 1;
    if (!part.is_chain) break;
    part.nodes.push_back(last[0]);
    part.is_chain = dependencies_of(part.nodes.back(), last);
  }
}

bool GraphParts::set(cudaGraphExec_t ready, std::span<const size_t> parts, const GraphParts& latest,
                     const GraphParts& fresh) const {
  if (fresh.parts_.size() != parts.size() || latest.parts_.size() != parts_.size()) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& own = parts_[parts[i]];
    const Part& before = latest.parts_[parts[i]];
    const Part& now = fresh.parts_[i];
    const size_t count = own.nodes.size();
    if (!own.is_chain || !before.is_chain || !now.is_chain || before.nodes.size() != count ||
        now.nodes.size() != count)
      return false;
    for (size_t k = 0; k < count; ++k) {
      if (!set_node(ready, own.nodes[k], before.nodes[k], now.nodes[k])) return false;
    }
  }
  return true;
}

}  // namespace loomix::engine
