// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/cpp/executor.h"

namespace loomix::cpp {
namespace detail {

struct Parameters {
  std::map<std::string, NDArray> arguments, auxiliary_states;
};

// Of a file whose names are `arg:NAME` and `aux:NAME`, or bare.
inline Parameters load_parameters(const std::string& path) {
  Parameters result;
  for (const auto& [name, array] : NDArray::LoadToMap(path)) {
    if (name.compare(0, 4, "aux:") == 0) result.auxiliary_states[name.substr(4)] = array;
    else result.arguments[name.compare(0, 4, "arg:") == 0 ? name.substr(4) : name] = array;
  }
  return result;
}

// The arrays of an executor for these inputs. What is missing is an error, except for labels, which prediction does not use.
inline std::unique_ptr<Executor> bind_for_prediction(const Symbol& symbol, const Parameters& parameters,
                                                     const std::map<std::string, Shape>& inputs,
                                                     const Context& context) {
  std::map<std::string, std::vector<mx_uint>> known;
  for (const auto& [name, shape] : inputs)
    known[name] = std::vector<mx_uint>(shape.sizes().begin(), shape.sizes().end());
  std::vector<std::vector<mx_uint>> shapes, states, outputs;
  symbol.InferShape(known, &shapes, &states, &outputs);
  const auto find = [&](const std::map<std::string, NDArray>& all, const std::string& name,
                        const std::vector<mx_uint>& shape) {
    const auto found = all.find(name);
    if (found == all.end()) throw Error("[Predictor] the parameters have no '" + name + "'.");
    if (found->second.GetShape() != shape)
      throw Error("[Predictor] '" + name + "' has shape " + to_text(Shape(found->second.GetShape())) +
                  "; the network needs " + to_text(Shape(shape)) + ".");
    return found->second.Copy(context);
  };
  std::vector<NDArray> arguments, auxiliary;
  const std::vector<std::string> names = symbol.ListArguments(), state_names = symbol.ListAuxiliaryStates();
  for (const auto& [name, shape] : inputs) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error("[Predictor] the network has no input '" + name + "'.");
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const bool label = ends_with(names[i], "label") && parameters.arguments.count(names[i]) == 0;
    const bool input = inputs.count(names[i]) > 0 || label;
    arguments.push_back(input ? NDArray(shapes[i], context)
                              : find(parameters.arguments, names[i], shapes[i]));
  }
  for (size_t i = 0; i < state_names.size(); ++i) {
    const auto& all = parameters.auxiliary_states.count(state_names[i]) ? parameters.auxiliary_states
                                                                        : parameters.arguments;
    auxiliary.push_back(find(all, state_names[i], states[i]));
  }
  return std::make_unique<Executor>(symbol, context, arguments, std::vector<NDArray>(),
                                    std::vector<OpReqType>(), auxiliary);
}

}  // namespace detail

// Predicts with a trained model: files NAME-symbol.json and NAME-0010.params, or what was loaded from them.
class Predictor {
 public:
  Predictor(const std::string& symbol_file, const std::string& params_file,
            const std::map<std::string, Shape>& inputs, const Context& context = Context::cpu())
      : Predictor(Symbol::Load(symbol_file), detail::load_parameters(params_file), inputs, context) {}
  Predictor(const Symbol& symbol, const detail::Parameters& parameters,
            const std::map<std::string, Shape>& inputs, const Context& context = Context::cpu())
      : executor_(detail::bind_for_prediction(symbol, parameters, inputs, context)),
        arguments_(executor_->arg_dict()) {}

  void SetInput(const std::string& name, const std::vector<mx_float>& values) {
    const auto found = arguments_.find(name);
    if (found == arguments_.end()) throw Error("[Predictor] the network has no input '" + name + "'.");
    found->second.SyncCopyFromCPU(values);
  }
  void Forward() { executor_->Forward(false); }
  std::vector<mx_float> GetOutput(size_t index = 0) const {
    std::vector<mx_float> values;
    output(index).SyncCopyToCPU(&values);
    return values;
  }
  Shape GetOutputShape(size_t index = 0) const { return Shape(output(index).GetShape()); }
  // One input, one output.
  std::vector<mx_float> Predict(const std::string& name, const std::vector<mx_float>& values) {
    SetInput(name, values);
    Forward();
    return GetOutput();
  }

 private:
  const NDArray& output(size_t index) const {
    if (index >= executor_->outputs.size())
      throw Error("[Predictor] output " + std::to_string(index) + " of " +
                  std::to_string(executor_->outputs.size()) + " is asked for.");
    return executor_->outputs[index];
  }

  std::unique_ptr<Executor> executor_;
  std::map<std::string, NDArray> arguments_;
};

}  // namespace loomix::cpp
