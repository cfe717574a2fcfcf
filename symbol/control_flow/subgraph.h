// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "ndarray/ndarray.h"
#include "symbol/executor/runtime.h"
#include "symbol/graph.h"
#include "symbol/symbol.h"

namespace loomix {

// A graph that an operator of control flow runs, as its attribute. Immutable. Inputs are its variables in depth-first order.
class Subgraph final : public Opaque {
 public:
  static constexpr std::string_view kKind = "subgraph";
  // `heads`: what it gives. ValueError for what can be no subgraph.
  explicit Subgraph(std::vector<SymbolOutput> heads);

  std::string_view kind() const override { return kKind; }
  int num_inputs() const { return static_cast<int>(variables_.size()); }
  int num_outputs() const { return static_cast<int>(graph_.outputs.size()); }
  bool mutates(int input) const { return mutated_[static_cast<size_t>(input)] != 0; }
  bool draws_random_numbers() const { return random_; }

  // Two-way, as an operator's rules are.
  void infer_shapes(std::span<Shape> inputs, std::span<Shape> outputs) const;
  void infer_dtypes(std::span<DType> inputs, std::span<DType> outputs) const;

  // Pushes all operators, one by one, and returns the outputs. They are recorded if this thread records.
  std::vector<NDArray> run(Runtime& runtime, std::span<const NDArray> inputs, Device device) const;

 private:
  template <class T, class Infer>
  void infer(std::span<T> inputs, std::span<T> outputs, T unknown, Infer&& rules) const;

  Graph graph_;
  std::vector<NodeId> variables_;
  std::vector<char> mutated_;  // one a variable
  std::vector<int> last_use_;  // one a node: after which node its values are not needed any more
  bool random_ = false;
};

}  // namespace loomix
