// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/graph.h"

namespace loomix {

// Gradients of pooling, joining and the like only move elements: they scatter the gradient of an output over the inputs. A
// gradient that scales elements by a value kept from forward (that of an activation, from its output) gives the same when it
// comes before them and reads the output that they belong to:
//
//     scatter -> scale by y     becomes     scale by pool(y) -> scatter
//
// Then y need not be kept: the output, which the next layer keeps anyway, serves. And there is less to scale. Nodes that
// nobody needs any more are left for prune.
Graph defer_scatter(Graph graph);

}  // namespace loomix
