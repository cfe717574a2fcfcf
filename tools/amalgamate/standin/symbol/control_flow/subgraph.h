// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "symbol/graph.h"
#include "symbol/program.h"
#include "symbol/symbol.h"

namespace loomix {

// A graph that an operator of control flow runs, as its attribute. Immutable. Inputs are its variables in depth-first order.
class Subgraph final : public Opaque {
 public:
  static constexpr std::string_view kKind = "subgraph";
  explicit Subgraph(std::vector<SymbolOutput> heads);

  std::string_view kind() const override { return kKind; }
  int num_inputs() const { return num_inputs_; }
  int num_outputs() const { return static_cast<int>(graph_.outputs.size()); }
  bool mutates(int) const { return false; }  // in prediction nothing is
  bool draws_random_numbers() const { return false; }
  void infer_shapes(std::span<Shape> inputs, std::span<Shape> outputs) const;
  void infer_dtypes(std::span<DType> inputs, std::span<DType> outputs) const;
  const Graph& graph() const { return graph_; }

 private:
  template <class T, class Infer>
  void infer(std::span<T> inputs, std::span<T> outputs, T unknown, Infer&& rules) const;
  Graph graph_;
  int num_inputs_ = 0;
};

}  // namespace loomix
