// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <cuda_runtime_api.h>

namespace loomix::engine {

// Which nodes of a captured graph come from which part of the work, so that the nodes of some parts can be given other parameters. What
// libraries launch is no exception: their nodes have parameters, too, though only the libraries know what these mean.
class GraphParts {
 public:
  // Around each part, while the stream is captured.
  void begin(cudaStream_t stream);
  void end(cudaStream_t stream);

  // Gives the nodes of `ready` the parameters that `fresh` has for these parts, which are all of its own. This tells of the graph that
  // `ready` was made of, and `latest` of the one that it was updated by last, or the same. False where a part has other kernels, grids
  // or nodes than before, or nodes that are no chain: then some may have been set.
  bool set(cudaGraphExec_t ready, std::span<const size_t> parts, const GraphParts& latest,
           const GraphParts& fresh) const;

 private:
  struct Part {
    bool is_chain = true;
    std::vector<cudaGraphNode_t> nodes = {};  // the last one first
  };
  std::vector<cudaGraphNode_t> before_;  // what the part's first node waits for, in order of address
  std::vector<Part> parts_;
};

}  // namespace loomix::engine
