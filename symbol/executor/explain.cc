// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/passes/end_pass.h"

namespace loomix {

NDArray array_without_memory(engine::Engine& engine, const Shape& shape, DType dtype, Device device) {
  const int64_t bytes = shape.size() * size_of(dtype);
  return NDArray(make_ref<Storage>(engine, nullptr, bytes, device, nullptr), shape, dtype);
}

NDArray BoundExecutor::new_array(const Shape& shape, DType dtype, Device device) const {
  return options_.plan_only ? array_without_memory(runtime_.engine(), shape, dtype, device)
                            : NDArray(runtime_.engine(), shape, dtype, device);
}

void BoundExecutor::end(const char* pass, const Graph& graph, const Inference* known) {
  end_pass(pass, graph, known);
  if (log_) log_->note(pass, graph);
}

int64_t BoundExecutor::Held::bytes() const {
  int64_t sum = 0;
  for (const auto& [info, array] : values) sum += array.bytes();
  return sum;
}

std::string BoundExecutor::explain(RunMode mode) {
  const Program& own = program(mode);  // compiled first: that makes what is held, too
  return to_text(own.report()) + explain_held(mode);
}

std::string BoundExecutor::explain_held(RunMode mode) const {
  if (mode != RunMode::inference || !held_.program) return {};
  return fmt::format("held until an argument changes: {:.2f} MB, by {} calls\n",
                     static_cast<double>(held_.bytes()) / (1 << 20), held_.program->num_calls());
}

RunMode BoundExecutor::explained_mode() const {
  if (last_.program) {
    for (const RunMode mode : {RunMode::inference, RunMode::training, RunMode::inference_with_gradients}) {
      if (programs_[static_cast<int>(mode)].get() == last_.program.get()) return mode;
    }
  }
  return wants_gradients() ? RunMode::training : RunMode::inference;
}

// Errors stay with the arrays, for those who read them.
void BoundExecutor::wait_for_last_pass() const {
  const auto wait = [](const NDArray& array) {
    if (array.is_none()) return;
    try {
      array.wait_to_read();
    } catch (const Error&) {}
  };
  for (const NDArray& output : outputs_) wait(output);
  for (const NDArray& gradient : arrays_.gradients) wait(gradient);
}

std::vector<Explanation::Array> BoundExecutor::described_arrays() const {
  using Kind = Explanation::Array::Kind;
  std::vector<Explanation::Array> described;
  const auto add = [&](Kind kind, const std::string& name, const NDArray& array, bool has_gradient) {
    const int64_t bytes = array.is_dense() ? array.bytes() : 0;  // of sparse arrays only their tasks know it
    described.push_back({kind, name, array.shape(), array.dtype(), bytes, has_gradient});
  };
  const auto arguments = symbol_.list_arguments();
  for (size_t i = 0; i < arguments.size(); ++i)
    add(Kind::argument, arguments[i], arrays_.arguments[i], arrays_.requests[i] != ops::Req::null);
  const auto states = symbol_.list_auxiliary_states();
  for (size_t i = 0; i < states.size(); ++i)
    add(Kind::auxiliary_state, states[i], arrays_.auxiliary_states[i], false);
  const auto outputs = symbol_.list_outputs();
  for (size_t i = 0; i < outputs.size(); ++i) add(Kind::output, outputs[i], outputs_[i], false);
  return described;
}

Explanation BoundExecutor::explanation(RunMode mode, bool compare_strategies) {
  BindOptions options = options_;
  options.plan_only = true;
  const Ref<BoundExecutor> again(new BoundExecutor(runtime_, symbol_, device_, arrays_, std::move(options)));
  again->monitor_ = monitor_;
  again->log_ = std::make_unique<PassLog>();
  again->make_outputs();
  const Program& planned = again->program(mode);
  const Ref<Program>& own = programs_[static_cast<int>(mode)];
  if (own && !options_.plan_only) wait_for_last_pass();
  Explanation result;
  result.title = title(mode);
  result.training = mode == RunMode::training;
  result.with_gradients = mode != RunMode::inference && wants_gradients();
  result.device = device_;
  result.arrays = described_arrays();
  result.passes = again->log_->notes();
  result.apart = again->log_->apart;
  result.whole = again->log_->whole;
  result.budget = again->log_->budget;
  result.program = own && !options_.plan_only ? own->report() : planned.report();
  if (mode == RunMode::inference) {
    for (const auto& [info, array] : again->held_.values)
      result.held.push_back({info->name, array.shape(), array.bytes()});
  }
  if (compare_strategies) result.strategies = planned.compare_sharing();
  return result;
}

Explanation BoundExecutor::explain_symbol(Runtime& runtime, const Symbol& symbol, Device device,
                                          const SimpleBindRequest& request, BindOptions options, RunMode mode,
                                          bool compare_strategies) {
  options.plan_only = true;
  return simple_bind(runtime, symbol, device, request, std::move(options))
      ->explanation(mode, compare_strategies);
}

}  // namespace loomix
