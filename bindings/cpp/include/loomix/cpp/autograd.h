// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/cpp/ndarray.h"

// Gradients of operators that run, without a symbol.
namespace loomix::cpp {

// What this thread runs is recorded until the end of the scope.
class AutogradScope {
 public:
  explicit AutogradScope(bool recording = true, bool training = true) {
    detail::check(LoomixAutogradSetMode(recording, training, &recording_, &training_));
  }
  AutogradScope(const AutogradScope&) = delete;
  AutogradScope& operator=(const AutogradScope&) = delete;
  ~AutogradScope() { LoomixAutogradSetMode(recording_, training_, nullptr, nullptr); }

 private:
  int recording_ = 0, training_ = 0;
};

// Makes arrays the variables that gradients are for; NDArray::Grad gives those.
inline void AutogradMark(const std::vector<NDArray>& variables, OpReqType request = kWriteTo) {
  std::vector<NDArray> gradients;
  for (const NDArray& variable : variables)
    gradients.emplace_back(variable.GetShape(), variable.GetContext(), false, variable.GetDType());
  const auto of = NDArray::handles(variables), to = NDArray::handles(gradients);
  const std::vector<int32_t> requests(of.size(), request);
  detail::check(LoomixAutogradMark(of.size(), of.data(), to.data(), requests.data()));
}

// The gradients of the sum of `heads`, or of their products with `head_gradients`.
inline void AutogradBackward(const std::vector<NDArray>& heads,
                             const std::vector<NDArray>& head_gradients = {}, bool retain_graph = false,
                             bool training = true) {
  if (!head_gradients.empty() && head_gradients.size() != heads.size())
    throw Error("[AutogradBackward] there are " + std::to_string(heads.size()) + " heads and " +
                std::to_string(head_gradients.size()) + " gradients of them.");
  const auto of = NDArray::handles(heads), from = NDArray::handles(head_gradients);
  detail::check(LoomixAutogradBackward(of.size(), of.data(), from.empty() ? nullptr : from.data(),
                                       retain_graph, training));
}

}  // namespace loomix::cpp
