// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ops/table.h"
#include "symbol/symbol_node.h"

namespace loomix {

// Operators that MXNet writes in NumPy mode (_npi_add ...), as those of the table that compute the same. `op` is the node's
// operator in the file, and its attributes and inputs are read; returns the name that stands for it. Where it takes two
// operators the node becomes the second, with one of the first kind as its input. Other names are returned as they are.
std::string rename_numpy_operator(SymbolNode& node, const std::string& op, const ops::OpTable& table);

}  // namespace loomix
