// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "ndarray/copy.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/executor/dynamic_graph.h"
#include "symbol/symbol_node.h"

// Executors of symbols in which shapes depend on data: a pass is recorded on the tape, and the tape has its gradients.
namespace loomix {

void BoundExecutor::forward_dynamic(bool training) {
  const autograd::Scope scope(wants_gradients(), training);
  const auto arguments = symbol_.list_arguments();
  std::vector<NDArray> inputs;
  size_t argument = 0, state = 0;
  for (const std::string& name : symbol_.list_inputs()) {
    if (argument == arguments.size() || arguments[argument] != name) {
      inputs.push_back(arrays_.auxiliary_states[state++].detach());
      continue;
    }
    NDArray array = arrays_.arguments[argument].detach();
    const ops::Req request = arrays_.requests[argument];
    if (request != ops::Req::null) {
      NDArray* const variable = &array;
      autograd::mark_variables({&variable, 1}, {&arrays_.gradients[argument], 1}, {&request, 1});
    }
    inputs.push_back(std::move(array));
    ++argument;
  }
  recorded_ = dynamic_->call(inputs);
  for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i] = recorded_[i].detach();
  last_.training = training;
}

void BoundExecutor::backward_dynamic(std::span<const NDArray> head_gradients) {
  LOOMIX_CHECK(head_gradients.size() <= outputs_.size(), ValueError,
               "[Executor] backward: got {} head gradients; the symbol has {} outputs.",
               head_gradients.size(), outputs_.size());
  std::vector<NDArray> heads, gradients;
  for (size_t i = 0; i < recorded_.size(); ++i) {
    if (!autograd::is_recorded(recorded_[i])) continue;
    const bool given = i < head_gradients.size() && !head_gradients[i].is_none();
    const SymbolNode& node = *symbol_.outputs()[i].node;
    LOOMIX_CHECK(
        given || (node.op && node.op->is_loss), ValueError,
        "[Executor] backward: output '{}' is no loss, so its head gradient is needed; pass out_grads.",
        symbol_.list_outputs()[i]);
    heads.push_back(recorded_[i]);
    gradients.push_back(given ? head_gradients[i] : NDArray());
  }
  for (size_t i = 0; i < arrays_.requests.size(); ++i) {  // those that no output depends on
    if (arrays_.requests[i] == ops::Req::write && arrays_.gradients[i].is_dense())
      fill(arrays_.gradients[i], 0);
  }
  if (heads.empty()) return;
  autograd::backward(runtime_, heads, gradients, {.retain_graph = true, .train_mode = last_.training});
}

}  // namespace loomix
