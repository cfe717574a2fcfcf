// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/closed_operators.h"
#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

// A max(x, 0) that alone reads the result of a node becomes a part of it, where the device has such an operator. Its own gradient
// needs its result only, so this holds in training, too. Prunes what is left over.
Graph close(Graph graph, const ops::OpTable& table, const Inference& known,
            const ops::ClosedOperators& operators);

}  // namespace loomix
