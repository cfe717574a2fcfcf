// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/graph.h"

namespace loomix {

// Throws InternalError naming `pass` and the node if the graph breaks a rule: inputs come first and name values that
// exist, counts agree with the schema, outputs exist, changed inputs are variables.
void verify(const Graph& graph, const char* pass);

}  // namespace loomix
