// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "ndarray/ndarray.h"
#include "symbol/executor/program.h"

namespace loomix {

// Who looks at the values of a graph while it runs, and what they are called there.
struct Monitor {
  // An executor names all outputs ("fc1_output", "fc1_backward_output0": the gradient of the first input) and, with
  // `inputs`, variables beside the inputs that they are ("data", "fc1_data"). A compiled block counts the outputs of most
  // operators ("tanh0_0", "fc1_backward_0"), shows those alone that a symbol has, and no inputs of gradients.
  enum class Names : uint8_t { executor, block };
  using See = std::function<void(const std::string& name, const std::string& op, const NDArray& array)>;

  See see;
  bool inputs = false;  // each operator's, before it runs
  Names names = Names::executor;

  explicit operator bool() const { return static_cast<bool>(see); }
  std::string input_name(const ops::OpDef& op, const AttrsBase& attrs, int i) const;
  std::string output_name(const ops::OpDef& op, const AttrsBase& attrs, int i) const;
  // How many outputs of an operator are shown.
  int count_outputs(const ops::OpDef& op, const AttrsBase& attrs) const;
};

// Has a compiled graph call the monitor, which must outlive it.
void install(const Monitor& monitor, Program& program);

}  // namespace loomix
