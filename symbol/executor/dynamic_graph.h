// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "symbol/executor/cached_graph.h"
#include "symbol/executor/run_node.h"
#include "symbol/symbol.h"

namespace loomix {

// A symbol with operators whose outputs' shapes depend on data. What needs none of these is one CachedGraph; the others run
// one by one after it, on the tape if this thread records. So planned memory ends where such operators begin.
class DynamicGraph final : public RefCounted {
 public:
  static bool is_needed(const Symbol& symbol);
  // `all`: nothing is compiled, all operators are run one by one.
  DynamicGraph(Runtime& runtime, const Symbol& symbol, std::string name, const PlanOptions& plan,
               bool all = false);

  // Arrays in the order of the symbol's list_inputs(). Returns new arrays.
  std::vector<NDArray> call(std::span<const NDArray> inputs);
  void set_monitor(Monitor monitor);

 private:
  struct Value {
    enum class From : uint8_t { input, before, step } from = From::input;
    size_t at = 0;
    size_t index = 0;  // of a step's output
  };
  struct Step {
    const ops::OpDef* op;
    Ref<const AttrsBase> attrs;
    std::string name;
    std::vector<Value> inputs;
  };
  class Builder;
  void watch(const Step& step, std::span<const NDArray* const> inputs) const;
  void watch_outputs(const Step& step, const NDArrays& outputs) const;

  Runtime& runtime_;
  Ref<CachedGraph> before_;
  std::vector<std::string> inputs_;    // their names
  std::vector<size_t> before_inputs_;  // their places among the inputs
  std::vector<Step> steps_;
  std::vector<Value> outputs_;
  Monitor monitor_;
};

}  // namespace loomix
