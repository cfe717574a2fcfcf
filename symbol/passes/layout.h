// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

// For prediction: convolutions, and what can follow them, run on images in blocks of channels (ops/blocked/blocked.h), with
// conversions where others read or write them. Weights are brought into their kernel's form by held nodes. An addition or a
// max(x, 0) that alone reads a convolution becomes a part of it. Outputs of the graph stay plain. Prunes what is left over.
Graph choose_layout(const Graph& graph, const ops::OpTable& table, const Inference& known);

}  // namespace loomix
