// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/cached_graph.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/dynamic_graph.h"
#include "symbol/symbol_node.h"

namespace loomix {
namespace {

NDArray gradient_array(const NDArray& argument, StorageType stype) {
  if (stype == StorageType::dense)
    return NDArray(argument.engine(), argument.shape(), argument.dtype(), argument.device());
  return NDArray::sparse(argument.engine(), stype, argument.shape(), argument.dtype(), argument.device());
}

bool same_place(const NDArray& a, const NDArray& b) {
  return a.storage_ref() == b.storage_ref() && a.offset() == b.offset();
}

// An output that is a variable is copied: its array is the caller's own.
Symbol with_own_outputs(const ops::OpTable& table, const Symbol& symbol) {
  std::vector<Symbol> outputs;
  for (int i = 0; i < symbol.num_outputs(); ++i) {
    Symbol output = symbol[i];
    if (output.outputs()[0].node->is_variable()) {
      const NamedSymbol input{"", output};
      output = Symbol::create(table, table.core().copy->name, {}, {&input, 1},
                              output.outputs()[0].node->name + "_out");
    }
    outputs.push_back(std::move(output));
  }
  return Symbol::group(outputs);
}

}  // namespace

// A recorded call on the tape.
class CachedGraph::Call final : public autograd::CustomFunction {
 public:
  Call(Ref<CachedGraph> graph, CompiledRef compiled, Ref<BoundExecutor> executor)
      : graph_(std::move(graph)), compiled_(std::move(compiled)), executor_(std::move(executor)) {}
  ~Call() override {
    const std::lock_guard lock(compiled_->mutex);
    compiled_->free.push_back(std::move(executor_));
  }

  std::string name() const override { return graph_->name_; }

  std::vector<NDArray> backward(std::span<const NDArray> output_grads,
                                std::span<const NDArray> targets) override {
    LOOMIX_CHECK(!autograd::is_recording(), NotImplementedError,
                 "[{}] gradients of gradients do not go through a hybridized block; call hybridize(False).",
                 graph_->name_);
    if (const std::string array = executor_->find_overwritten(); !array.empty()) {
      detail::throw_error<StateError>(
          "[backward] {} of the hybridized block '{}' was overwritten after the call, and its gradient "
          "needs it; write to a new array, or call backward first.",
          array, graph_->name_);
    }
    std::vector<NDArray> gradients = place_gradients(targets);
    executor_->backward_from(output_grads);
    return gradients;
  }

 private:
  // Where the gradients go: to their targets, else to new arrays.
  std::vector<NDArray> place_gradients(std::span<const NDArray> targets) {
    const BoundArrays& arrays = executor_->arrays();
    std::unordered_set<const Storage*> read;
    for (const NDArray& argument : arrays.arguments) read.insert(&argument.storage());
    for (const NDArray& output : executor_->outputs()) read.insert(&output.storage());
    const auto& arguments = graph_->arguments_;
    std::vector<NDArray> gradients(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arrays.requests[i] == ops::Req::null) continue;
      const NDArray& argument = arrays.arguments[i];
      const NDArray& target = targets[i];
      const StorageType stype = arrays.gradients[i].stype();
      const bool fits = !target.is_none() && target.stype() == stype && target.shape() == argument.shape() &&
                        target.dtype() == argument.dtype() && target.device() == argument.device() &&
                        !read.contains(&target.storage());
      gradients[i] = fits ? target : gradient_array(argument, stype);
      if (!same_place(gradients[i], arrays.gradients[i])) executor_->replace_gradient(i, gradients[i]);
    }
    return gradients;
  }

  Ref<CachedGraph> graph_;
  CompiledRef compiled_;
  Ref<BoundExecutor> executor_;
};

CachedGraph::CachedGraph(Runtime& runtime, Symbol symbol, std::string name, PlanOptions plan)
    : runtime_(runtime), symbol_(std::move(symbol)), name_(std::move(name)), plan_(plan) {
  const auto states = symbol_.list_auxiliary_states();
  std::map<std::string, int> seen;
  size_t argument = 0, state = 0;
  for (const std::string& input : symbol_.list_inputs()) {
    LOOMIX_CHECK(++seen[input] == 1, ValueError, "[{}] two inputs of the graph are called '{}'.", name_,
                 input);
    const bool mutated = std::find(states.begin(), states.end(), input) != states.end();
    if (!mutated) arguments_.push_back(inputs_.size());
    inputs_.push_back({input, mutated ? state++ : argument++, mutated});
  }
  if (DynamicGraph::is_needed(symbol_)) dynamic_ = make_ref<DynamicGraph>(runtime_, symbol_, name_, plan_);
}

CachedGraph::~CachedGraph() = default;

namespace {

// Operators without inputs run on the device that the executor gives them, so graphs that have some are not inlined.
bool is_short(const Symbol& symbol, size_t most) {
  size_t count = 0;
  for (const SymbolNode* node : depth_first(symbol.outputs())) {
    if (!node->op) continue;
    if (node->inputs.empty() || ++count > most) return false;
  }
  return count > 0;
}

}  // namespace

Ref<CachedGraph> CachedGraph::make(Runtime& runtime, const Symbol& symbol, std::string name, PlanOptions plan,
                                   size_t inline_limit) {
  BoundExecutor::check_can_run(symbol);
  Ref<CachedGraph> graph(
      new CachedGraph(runtime, with_own_outputs(runtime.table(), symbol), std::move(name), plan));
  if (!graph->dynamic_ && is_short(symbol, inline_limit))
    graph->inlined_ = make_ref<DynamicGraph>(runtime, symbol, graph->name_, plan, true);
  return graph;
}

void CachedGraph::check(std::span<const NDArray> inputs) const {
  LOOMIX_CHECK(inputs.size() == inputs_.size(), ValueError, "[{}] got {} arrays; the graph has {} inputs.",
               name_, inputs.size(), inputs_.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    LOOMIX_CHECK(inputs[i].is_dense(), NotImplementedError,
                 "[{}] input '{}' is {}; a hybridized block takes dense arrays.", name_, inputs_[i].name,
                 inputs[i].is_none() ? "empty (none)" : loomix::name_of(inputs[i].stype()));
    LOOMIX_CHECK(inputs[i].device() == inputs[0].device(), DeviceError,
                 "[{}] input '{}' is on {}, '{}' on {}; all must be on one device.", name_, inputs_[i].name,
                 inputs[i].device().to_string(), inputs_[0].name, inputs[0].device().to_string());
  }
}

CachedGraph::Signature CachedGraph::signature_of(std::span<const NDArray> inputs, bool recording) const {
  Signature signature;
  bool wants_gradients = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    signature.shapes.push_back(inputs[i].shape());
    signature.dtypes.push_back(inputs[i].dtype());
    signature.devices.push_back(inputs[i].device());
    if (inputs_[i].mutated) continue;
    const bool wanted = recording && autograd::is_recorded(inputs[i]);
    signature.requests.push_back(wanted ? ops::Req::write : ops::Req::null);
    wants_gradients = wants_gradients || wanted;
  }
  signature.mode = autograd::is_training() ? RunMode::training
                   : wants_gradients       ? RunMode::inference_with_gradients
                                           : RunMode::inference;
  return signature;
}

CachedGraph::CompiledRef CachedGraph::find(Signature signature) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(compiled_.begin(), compiled_.end(), [&](const CompiledRef& compiled) {
    return compiled->signature == signature;
  });
  if (known != compiled_.end()) {
    compiled_.splice(compiled_.begin(), compiled_, known);
    return compiled_.front();
  }
  if (compiled_.size() == kMostSignatures) compiled_.pop_back();
  compiled_.push_front(std::make_shared<Compiled>());
  compiled_.front()->signature = std::move(signature);
  return compiled_.front();
}

Ref<BoundExecutor> CachedGraph::bind(const Signature& signature, std::span<const NDArray> inputs,
                                     bool plan_only) const {
  BoundArrays arrays;
  arrays.requests = signature.requests;
  for (size_t i = 0; i < inputs.size(); ++i) {
    (inputs_[i].mutated ? arrays.auxiliary_states : arrays.arguments).push_back(inputs[i].detach());
  }
  arrays.gradients.resize(arrays.arguments.size());
  BindOptions options;
  options.plan = plan_;
  options.plan_only = plan_only;
  const Device device = signature.devices.empty() ? runtime_.default_device : signature.devices[0];
  const auto stypes = BoundExecutor::gradient_storage(runtime_, symbol_, device, arrays, options);
  for (size_t i = 0; i < arrays.arguments.size(); ++i) {
    if (arrays.requests[i] == ops::Req::null) continue;
    const NDArray& like = arrays.arguments[i];
    arrays.gradients[i] = plan_only && stypes[i] == StorageType::dense
                              ? array_without_memory(like.engine(), like.shape(), like.dtype(), like.device())
                              : gradient_array(like, stypes[i]);
  }
  return BoundExecutor::bind(runtime_, symbol_, device, std::move(arrays), std::move(options));
}

void CachedGraph::put_in_place(BoundExecutor& executor, std::span<const NDArray> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs_[i];
    const auto& arrays = input.mutated ? executor.arrays().auxiliary_states : executor.arrays().arguments;
    if (same_place(arrays[input.position], inputs[i])) continue;
    if (input.mutated) executor.replace_auxiliary_state(input.position, inputs[i].detach());
    else executor.replace_argument(input.position, inputs[i].detach());
  }
}

// An executor that nobody uses, on these arrays.
Ref<BoundExecutor> CachedGraph::take(Compiled& compiled, std::span<const NDArray> inputs) {
  Ref<BoundExecutor> executor;
  {
    const std::lock_guard lock(compiled.mutex);
    if (!compiled.free.empty()) {
      executor = std::move(compiled.free.back());
      compiled.free.pop_back();
    }
  }
  if (executor) {
    put_in_place(*executor, inputs);
    executor->renew_outputs();
    return executor;
  }
  executor = bind(compiled.signature, inputs);
  if (monitor_) executor->set_monitor(monitor_);
  const std::lock_guard lock(compiled.mutex);
  ++compiled.made;
  return executor;
}

std::vector<NDArray> CachedGraph::call(std::span<const NDArray> inputs) {
  check(inputs);
  if (dynamic_) return dynamic_->call(inputs);
  std::vector<const NDArray*> pointers;
  for (const NDArray& input : inputs) pointers.push_back(&input);
  const bool recording = autograd::should_record(pointers);
  if (recording && inlined_ && !monitor_) return inlined_->call(inputs);
  const CompiledRef compiled = find(signature_of(inputs, recording));
  const RunMode mode = compiled->signature.mode;
  Ref<BoundExecutor> executor = take(*compiled, inputs);
  executor->forward(mode);
  std::vector<NDArray> outputs(executor->outputs().begin(), executor->outputs().end());
  if (!recording) {
    const std::lock_guard lock(compiled->mutex);
    compiled->free.push_back(std::move(executor));
    return outputs;
  }
  std::vector<NDArray> arguments;
  for (size_t i : arguments_) arguments.push_back(inputs[i]);
  std::vector<NDArray*> targets;
  for (NDArray& output : outputs) targets.push_back(&output);
  autograd::record_custom(runtime_, make_ref<Call>(Ref<CachedGraph>(this), compiled, std::move(executor)),
                          arguments, targets);
  return outputs;
}

size_t CachedGraph::num_signatures() const {
  const std::lock_guard lock(mutex_);
  return compiled_.size();
}

size_t CachedGraph::num_executors() const {
  const std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const CompiledRef& compiled : compiled_) {
    const std::lock_guard own(compiled->mutex);
    sum += compiled->made;
  }
  return sum;
}

std::optional<Explanation> CachedGraph::explanation(bool compare_strategies) {
  CompiledRef compiled;
  {
    const std::lock_guard lock(mutex_);
    if (compiled_.empty()) return {};
    compiled = compiled_.front();
  }
  const Signature& signature = compiled->signature;
  Ref<BoundExecutor> executor;
  {
    const std::lock_guard lock(compiled->mutex);
    if (!compiled->free.empty()) {
      executor = std::move(compiled->free.back());
      compiled->free.pop_back();
    }
  }
  if (executor) {
    Explanation result = executor->explanation(signature.mode, compare_strategies);
    const std::lock_guard lock(compiled->mutex);
    compiled->free.push_back(std::move(executor));
    return result;
  }
  std::vector<NDArray> inputs;
  for (size_t i = 0; i < signature.shapes.size(); ++i)
    inputs.push_back(array_without_memory(runtime_.engine(), signature.shapes[i], signature.dtypes[i],
                                          signature.devices[i]));
  return bind(signature, inputs, true)->explanation(signature.mode, compare_strategies);
}

void CachedGraph::set_monitor(Monitor monitor) {
  const std::lock_guard lock(mutex_);
  if (dynamic_) dynamic_->set_monitor(monitor);
  monitor_ = std::move(monitor);
  compiled_.clear();
}

}  // namespace loomix
