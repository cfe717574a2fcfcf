// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/side_threads.h"
#include "ops/table.h"
#include "symbol/control_flow/subgraph.h"

// Operators that run subgraphs: _foreach, _while_loop and _cond, as mx.sym.contrib makes them and MXNet's files have them.
namespace loomix::control_flow {

// What a forward run leaves for its gradient.
struct Tape;

// Of one executor, or one recorded call; its runs come one after the other.
class LoopState final : public engine::SideThreads::Strand {
 public:
  LoopState();
  ~LoopState() override;
  std::unique_ptr<Tape> tape;  // used within the strand
};

// The parameters that all three have.
struct ControlParams {
  int num_args = 0;  // subgraphs count
  int num_outputs = 0;

  // Set once the attributes are joined with the subgraphs.
  std::vector<Ref<const Subgraph>> graphs;
  const ops::OpTable* table = nullptr;
  ops::Signature signature;
  Ref<LoopState> state;

  int num_inputs() const { return static_cast<int>(signature.inputs.size()); }
};

// Over the first axis of `data`: outputs of the subgraph are stacked, states are handed on. Inputs are data, states, others.
struct ForeachParams : ControlParams {
  static constexpr int kGraphs = 1;
  int num_out_data = 0;
  std::vector<int64_t> in_state_locs, in_data_locs, remain_locs;  // of the inputs, among the subgraph's
  static void fields(FieldList<ForeachParams>& f);
};

// While the first subgraph says so: outputs of the second are stacked, its variables are handed on.
struct WhileParams : ControlParams {
  static constexpr int kGraphs = 2;
  int num_out_data = 0;
  int max_iterations = 0;
  std::vector<int64_t> cond_input_locs, func_input_locs;  // of the subgraphs' inputs, among the operator's
  std::vector<int64_t> func_var_locs;  // of the variables, among the second subgraph's inputs
  static void fields(FieldList<WhileParams>& f);
};

// The first subgraph says which of the others runs.
struct CondParams : ControlParams {
  static constexpr int kGraphs = 3;
  std::vector<int64_t> cond_input_locs, then_input_locs, else_input_locs;  // as above
  static void fields(FieldList<CondParams>& f);
};

// The gradient of each of them.
struct ControlGradientParams {
  Ref<LoopState> state;
  const ops::OpTable* table = nullptr;
  int num_outputs = 0, num_inputs = 0,
      num_data = 0;  // inputs from which each step takes an element come first
  int num_out_data = 0;
  std::vector<int> wanted;  // inputs whose gradients are the outputs
  ops::Signature signature = {{{"data"}}, {"output"}};
  static void fields(FieldList<ControlGradientParams>&) {}
};

// Kernels; see the top of loop_kernels.cc.
void run_foreach(const ForeachParams& p, const ops::KernelArgs& args, engine::Completion completion);
void run_while(const WhileParams& p, const ops::KernelArgs& args, engine::Completion completion);
void run_cond(const CondParams& p, const ops::KernelArgs& args, engine::Completion completion);
void run_gradient(const ControlGradientParams& p, const ops::KernelArgs& args, engine::Completion completion);

void register_operators(ops::OpTable& table);
void register_gradients(ops::OpTable& table);  // the kernel that their gradients need

}  // namespace loomix::control_flow
