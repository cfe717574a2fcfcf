// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ops/table.h"
#include "symbol/control_flow/subgraph.h"

namespace loomix::control_flow {

class LoopState final : public RefCounted {};  // what training leaves between its passes: nothing here

struct ControlParams {
  int num_args = 0;
  int num_outputs = 0;
  std::vector<Ref<const Subgraph>> graphs;
  const ops::OpTable* table = nullptr;
  ops::Signature signature;
  Ref<LoopState> state;

  int num_inputs() const { return static_cast<int>(signature.inputs.size()); }
};

struct ForeachParams : ControlParams {
  static constexpr int kGraphs = 1;
  int num_out_data = 0;
  std::vector<int64_t> in_state_locs, in_data_locs, remain_locs;
  static void fields(FieldList<ForeachParams>& f);
};

struct WhileParams : ControlParams {
  static constexpr int kGraphs = 2;
  int num_out_data = 0;
  int max_iterations = 0;
  std::vector<int64_t> cond_input_locs, func_input_locs, func_var_locs;
  static void fields(FieldList<WhileParams>& f);
};

struct CondParams : ControlParams {
  static constexpr int kGraphs = 3;
  std::vector<int64_t> cond_input_locs, then_input_locs, else_input_locs;
  static void fields(FieldList<CondParams>& f);
};

void run_foreach(const ForeachParams& p, const ops::KernelArgs& args, engine::Completion completion);
void run_while(const WhileParams& p, const ops::KernelArgs& args, engine::Completion completion);
void run_cond(const CondParams& p, const ops::KernelArgs& args, engine::Completion completion);

void register_operators(ops::OpTable& table);

}  // namespace loomix::control_flow
