// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "symbol/passes/reduce_precision.h"
#include "symbol/symbol.h"

namespace loomix {

// The pass of reduce_precision.h for symbols: a copy with casts.
Symbol reduce_precision(const Symbol& symbol, const ops::OpTable& table, const PrecisionRules& rules,
                        std::span<const std::string> excluded = {},
                        std::span<const std::string> parameters = {});

// Inserts casts before a node that was just composed, and that nobody else has yet.
void cast_inputs(SymbolNode& node, const ops::OpTable& table, const PrecisionRules& rules);

}  // namespace loomix
