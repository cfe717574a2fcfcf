// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/ref_counted.h"
#include "ndarray/ndarray.h"
#include "ops/kernel_choice.h"
#include "ops/packed_weight.h"
#include "symbol/graph.h"
#include "symbol/passes/infer.h"
#include "symbol/passes/plan.h"

namespace loomix {

// What predictors of one model share beyond its weights: values that follow from them, and weights in the kernels' own forms.
class SharedConstants : public RefCounted {
 public:
  std::mutex mutex;
  std::map<std::string, std::vector<NDArray>> values;  // by the graph that computes them
  std::map<const void*, std::shared_ptr<const std::vector<float>>> packed;
};

// A graph with known shapes and types, compiled: kernels are chosen, memory is planned. Runs come one after the other.
class Program {
 public:
  Program(engine::Engine& engine, Graph graph, Inference known);

  int num_variables() const { return static_cast<int>(variables_.size()); }
  const Ref<const NodeInfo>& variable(int i) const { return graph_[variables_[static_cast<size_t>(i)]].info; }
  // Where the variable is from now on.
  void set(int variable, const TensorView& view);
  // It never changes, so kernels may keep it in a form of their own.
  void pack(int variable, SharedConstants& shared);
  void plan();  // after pack()
  void run();
  const TensorView& output(int i) const {
    return views_[static_cast<size_t>(outputs_[static_cast<size_t>(i)])];
  }
  NDArray take_output(engine::Engine& engine, int i) const;  // a copy

 private:
  struct Step {
    NodeId node;
    ops::KernelChoice choice;
    std::vector<int> in, out;  // values
    std::vector<TensorView> in_views, out_views, saved_views;
    std::vector<ops::Req> req;
    std::span<std::byte> scratch;
  };
  void add_step(NodeId id);
  void connect(Step& step);
  void check_sizes() const;

  engine::RunContext context_;
  const Graph graph_;
  const Inference known_;
  const ValueIndex index_;
  std::vector<int> readers_;
  std::vector<NodeId> variables_;
  std::vector<int> outputs_;
  std::vector<Step> steps_;
  std::vector<TensorView> views_;  // by value
  GraphPlan plan_;
  Memory arena_;
  std::vector<Memory> own_;  // of outputs
};

// The shapes and types of all values from those of the variables, in order. Throws where something stays unknown.
Inference infer_all(const Graph& graph, std::span<const TensorView> variables);

// Runs a graph once.
std::vector<NDArray> run_once(engine::Engine& engine, const Graph& graph,
                              std::span<const TensorView> variables);

}  // namespace loomix
