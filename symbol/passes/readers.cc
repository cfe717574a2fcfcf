// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/readers.h"

namespace loomix {

std::vector<int> count_readers(const Graph& graph, const ValueIndex& index) {
  std::vector<int> readers(static_cast<size_t>(index.size()), 0);
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const ValueRef& input : graph.inputs(id)) ++readers[static_cast<size_t>(index[input])];
  }
  for (const ValueRef& output : graph.outputs) ++readers[static_cast<size_t>(index[output])];
  return readers;
}

}  // namespace loomix
