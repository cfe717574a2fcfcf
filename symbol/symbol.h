// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbol/graph.h"
#include "symbol/symbol_node.h"

namespace loomix {

class Symbol;

// An input of an operator that is being made: by position if the name is empty. An empty symbol counts as not given.
struct NamedSymbol;

// How sizes are written at the API: 0 (and no axes at all) for unknown, as MXNet always did, or -1 as with np_shape.
enum class ShapeRule : uint8_t { legacy, numpy };
ShapeRule shape_rule() noexcept;  // of this thread

// What becomes of the operators that MXNet writes in NumPy mode: those of the table that compute the same on floating arrays,
// or unknown ones, for a caller that finds them out when it knows shapes and types.
enum class NumpyOperators : uint8_t { of_table, late };

template <class T>
struct Inferred {
  std::vector<T> arguments, outputs, auxiliary_states;
  bool complete = false;                // everything is known
  std::vector<std::string> unresolved;  // "'name' (operator)": where inference of shapes stopped
};

// A list of outputs of nodes: what Python calls a Symbol. Copies share nodes.
class Symbol {
 public:
  Symbol() = default;
  explicit Symbol(std::vector<SymbolOutput> outputs) : outputs_(std::move(outputs)) {}

  static Symbol variable(std::string name, const TextPairs& attrs = {});
  // A new node. `attrs` holds parameters and other attributes as text; hidden keys may be bare. Missing inputs become
  // variables NAME_INPUT. The name must be final: hints and prefixes are the caller's.
  static Symbol create(const ops::OpTable& table, std::string_view op, const TextPairs& attrs,
                       std::span<const NamedSymbol> inputs, std::string name,
                       std::span<const Symbol> subgraphs = {});
  static Symbol group(std::span<const Symbol> symbols);
  static Symbol from_json(const ops::OpTable& table, std::string_view text,
                          NumpyOperators numpy = NumpyOperators::of_table);
  static Symbol load(const ops::OpTable& table, const std::string& path,
                     NumpyOperators numpy = NumpyOperators::of_table);

  bool empty() const { return outputs_.empty(); }
  std::span<const SymbolOutput> outputs() const { return outputs_; }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  Symbol operator[](int i) const;              // IndexError
  Symbol output(std::string_view name) const;  // "fc1_output"; ValueError lists the names
  Symbol internals() const;
  Symbol children() const;  // empty if there are none
  Symbol copy() const;      // nodes, too
  // A copy in which variables are replaced, by name or in the order of list_inputs; `name` renames the node.
  Symbol compose(std::span<const NamedSymbol> inputs, std::string_view name = {}) const;

  std::optional<std::string> name() const;  // none for a group
  std::vector<std::string> list_arguments() const;
  std::vector<std::string> list_outputs() const;
  std::vector<std::string> list_auxiliary_states() const;
  std::vector<std::string> list_inputs() const;  // both kinds, in depth-first order

  // Attributes of the one node; hidden keys are found and listed with and without underscores.
  std::optional<std::string> attr(std::string_view key) const;
  TextPairs list_attr() const;
  std::vector<std::pair<std::string, TextPairs>> attr_dict() const;  // of all nodes that have any
  void set_attr(const ops::OpTable& table, const TextPairs& attrs);

  // Unknown names among `known` are errors, and so are contradictions; what cannot be found out stays unknown.
  Inferred<Shape> infer_shape(std::span<const std::pair<std::string, Shape>> known,
                              ShapeRule rule = ShapeRule::legacy) const;
  Inferred<DType> infer_type(std::span<const std::pair<std::string, DType>> known) const;

  std::string to_json() const;
  void save(const std::string& path) const;
  // The part whose nodes have `__subgraph_name__` = name, for an operator of control flow. What it takes from other operators
  // become variables. `inputs`: for each of its list_inputs(), what stands for it outside.
  struct Cut;
  Cut cut_subgraph(std::string_view name) const;

  Symbol without_amp_cast() const;   // amp_cast and amp_multicast removed, but where they are outputs
  Symbol with_equal_merged() const;  // a copy in which nodes that compute the same are one, but for outputs

  // Nodes in depth-first order; variables keep all their attributes, operators those that are not parameters.
  Graph graph() const;

 private:
  std::vector<SymbolOutput> outputs_;
};

struct Symbol::Cut {
  Symbol graph;
  std::vector<Symbol> inputs;
};

struct NamedSymbol {
  std::string name;
  Symbol symbol;
};

}  // namespace loomix
