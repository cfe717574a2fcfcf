// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/symbol_node.h"

namespace loomix {

// Makes of a node as a file of that version (10000 * major + 100 * minor + patch) has it one of today: hidden keys,
// parameters, missing auxiliary inputs, default initializers, the old argmax. Its inputs are today's already.
void upgrade_node(SymbolNode& node, int version, const ops::OpTable& table);

}  // namespace loomix
