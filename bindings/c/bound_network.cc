// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/bound_network.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "bindings/c/process.h"
#include "ndarray/copy.h"
#include "symbol/executor/from_settings.h"
#include "symbol/symbol_node.h"

namespace loomix::c {

const ops::OpTable& table() { return runtime().table(); }

void check_can_run(const Symbol& symbol) {
  BoundExecutor::check_can_run(symbol);
  for (const SymbolNode* node : depth_first(symbol.outputs())) {
    LOOMIX_CHECK(
        !node->op || !node->op->data_dependent, NotImplementedError,
        "[MXPredCreate] the shape of the output of node '{}' ({}) depends on data; a predictor's are "
        "known when it is made.",
        node->name, node->op_name());
  }
}

ArrayList read_arrays(std::span<const std::byte> file, const char* name) {
  return load_arrays_from_buffer(runtime().engine(), file, {.borrow = true}, name);
}

std::vector<float> float_elements(const NDArray& array) {
  const NDArray dense(array.engine(), array.shape(), array.dtype(), Device::cpu());
  copy(array, dense);
  const NDArray as_float = cast(dense, DType::float32);
  std::vector<float> elements(static_cast<size_t>(as_float.size()));
  as_float.copy_to_host(elements.data(), as_float.bytes());
  return elements;
}

NDArray zeros(const Shape& shape, DType type) {
  return loomix::zeros(runtime().engine(), shape, type, Device::cpu());
}

void write_elements(NDArray& array, const void* data, DType type) {
  LOOMIX_INTERNAL_CHECK(array.dtype() == type);
  array.copy_from_host(data, array.bytes());
}

BoundNetwork::BoundNetwork(const Symbol& symbol, const NetworkArrays& arrays,
                           const Ref<SharedValues>& shared) {
  BoundArrays bound;
  for (size_t i = 0; i < arrays.arguments.size(); ++i)
    bound.arguments.push_back(arrays.fixed[i] ? arrays.arguments[i].detach() : arrays.arguments[i]);
  for (const NDArray& state : arrays.states) bound.auxiliary_states.push_back(state.detach());
  bound.gradients.resize(bound.arguments.size());
  bound.requests.assign(bound.arguments.size(), ops::Req::null);
  executor_ = BoundExecutor::bind(
      runtime(), symbol, Device::cpu(), std::move(bound),
      {.plan = plan_from_settings(), .groups = {}, .shared = {}, .held = shared, .fixed = arrays.fixed});
  executor_->prepare();
}

void BoundNetwork::settle(const Symbol& symbol, Weights& weights) {
  Weights kept;
  // The array of that name, if it is a borrowed one that this network was bound to.
  const auto borrowed = [&](const std::string& name, const NDArray& bound) -> NDArray* {
    const auto found = weights.find(name);
    if (found == weights.end()) return nullptr;
    NDArray& array = kept[name] = found->second;
    if (!array.is_dense() || array.bytes() < LoadOptions::kLargeBytes) return nullptr;
    if (bound.storage_ref() == array.storage_ref()) return &array;
    array = copy_to(array, array.device());  // an input is bound instead
    array.wait_to_read();
    return nullptr;
  };
  const auto own = [](NDArray& array) {
    const NDArray copy(array.engine(), array.shape(), array.dtype(), array.device());
    std::memcpy(copy.view().data, array.view().data, static_cast<size_t>(array.bytes()));
    return array = copy;
  };
  BoundExecutor& first = *executor_;
  const std::vector<std::string> arguments = symbol.list_arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    NDArray* const array = borrowed(arguments[i], first.arrays().arguments[i]);
    if (!array) continue;
    if (first.needs_argument(i)) first.replace_argument(i, own(*array));
    else first.let_go(i), *array = first.arrays().arguments[i];
  }
  const std::vector<std::string> states = symbol.list_auxiliary_states();
  for (size_t i = 0; i < states.size(); ++i) {
    if (NDArray* const array = borrowed(states[i], first.arrays().auxiliary_states[i]))
      first.replace_auxiliary_state(i, own(*array));
  }
  first.renew_outputs();  // of which some may be weights
  weights = std::move(kept);
}

void BoundNetwork::run() {
  // Nothing may be in flight when the program exits: libraries destroy then what their kernels use.
  for (const NDArray& output : executor_->forward(RunMode::inference)) output.wait_to_read();
}

void BoundNetwork::read_output(size_t i, void* data) const {
  const NDArray& output = executor_->outputs()[i];
  output.copy_to_host(data, output.bytes());
}

}  // namespace loomix::c
