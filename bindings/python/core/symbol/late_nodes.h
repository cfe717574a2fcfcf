// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "symbol/symbol.h"

namespace loomix::python {

// A late node is a function of mx.np under MXNet's name of an operator (_npi_matmul) that the table does not have: what
// operators it takes follows from the shapes and types of its inputs. It is kept as an unknown operator, and replaced where
// a symbol is inferred or bound.
bool is_late(const SymbolNode& node);
bool has_late_nodes(const Symbol& symbol);
Symbol late_node(std::string op, std::string name, const TextPairs& attrs, const std::vector<Symbol>& inputs,
                 int outputs);

struct KnownSymbol {
  Symbol symbol;  // one output
  Shape shape;
  DType dtype;
};
// What computes the outputs of a late node.
using ExpandNode =
    std::function<std::vector<KnownSymbol>(const SymbolNode& node, const std::vector<KnownSymbol>& inputs)>;

// A copy in which the late nodes whose inputs are known are replaced. Types that do not follow count as float32.
Symbol expand_late_nodes(const Symbol& symbol, const std::vector<std::pair<std::string, Shape>>& shapes,
                         const std::vector<std::pair<std::string, DType>>& dtypes, const ExpandNode& expand);

// Turns a variable of a graph that nobody else has into a node that computes the value.
void become(const Symbol& graph, const std::string& variable, const Symbol& value);

}  // namespace loomix::python
