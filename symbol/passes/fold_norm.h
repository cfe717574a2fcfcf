// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

// For prediction: a batch normalisation that alone reads a convolution or FullyConnected goes into its weight and bias. These
// are computed by held nodes. Prunes what is left over.
Graph fold_norm(const Graph& graph, const ops::OpTable& table, const Inference& known);

}  // namespace loomix
