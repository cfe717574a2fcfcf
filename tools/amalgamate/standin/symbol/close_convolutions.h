// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

// A sum, and max(x, 0), of what a convolution gives become parts of it, where nobody else reads it. The other summand is a further
// input of the node. What is to be done stands in the attribute kClosingKey of the node's info.
inline constexpr const char* kClosingKey = "__closing__";  // "add", "relu" or "add relu"
Graph close_convolutions(const Graph& graph, const Inference& known, int cores);

}  // namespace loomix
