// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/cpp/symbol.h"

namespace loomix::cpp {
inline namespace names {

// An operator by its name, with parameters and inputs, to be composed or to be run.
class Operator {
 public:
  explicit Operator(const std::string& operator_name) : name_(operator_name) {}

  template <class T>
  Operator& SetParam(const std::string& name, const T& value) {
    parameters_[name] = detail::to_text(value);
    return *this;
  }
  // By its place among the operator's parameters.
  template <class T>
  Operator& SetParam(int position, const T& value) {
    LoomixOperatorInfo info{};
    detail::check(LoomixOperatorDescribe(name_.c_str(), &info));
    if (position < 0 || static_cast<size_t>(position) >= info.parameters)
      throw Error("[" + name_ + "] has no parameter " + std::to_string(position) + ".");
    return SetParam(std::string(info.parameter_names[position]), value);
  }
  Operator& SetInput(const std::string& name, const Symbol& symbol) {
    if (symbol.GetHandle()) {  // an empty one counts as not given
      input_names_.push_back(name);
      symbols_.push_back(symbol);
    }
    return *this;
  }
  Operator& SetInput(const std::string& name, const NDArray& array) {
    input_names_.push_back(name);
    arrays_.push_back(array);
    return *this;
  }
  Operator& PushInput(const Symbol& symbol) {
    symbols_.push_back(symbol);
    return *this;
  }
  Operator& PushInput(const NDArray& array) {
    arrays_.push_back(array);
    return *this;
  }
  Operator& AddInput(const Symbol& symbol) { return PushInput(symbol); }
  template <class... Inputs>
  Operator& operator()(const Inputs&... inputs) {
    (PushInput(inputs), ...);
    return *this;
  }
  Operator& operator()(const std::vector<Symbol>& inputs) {
    for (const Symbol& input : inputs) PushInput(input);
    return *this;
  }

  Symbol CreateSymbol(const std::string& name = "") const {
    std::vector<LoomixSymbol> handles;
    for (const Symbol& symbol : symbols_) handles.push_back(symbol.GetHandle());
    const auto names = detail::pointers(input_names_);
    if (!names.empty() && names.size() != handles.size())
      throw Error("[" + name_ + "] some inputs have names and others have not.");
    const LoomixSymbolInputs inputs{handles.size(), names.empty() ? nullptr : names.data(), handles.data()};
    const detail::CPairs pairs(parameters_);
    LoomixSymbol made = nullptr;
    detail::check(LoomixSymbolCreate(name_.c_str(), pairs.get(), &inputs,
                                     name.empty() ? nullptr : name.c_str(), &made));
    return Symbol(made);
  }
  // Runs it on the arrays, in order if they have no names.
  std::vector<NDArray> Invoke() const { return NDArray::invoke(name_.c_str(), ordered(), parameters_); }
  void Invoke(NDArray& output) const {
    NDArray::invoke_into(name_.c_str(), ordered(), parameters_, {output});
  }
  void Invoke(std::vector<NDArray>& outputs) const {
    if (outputs.empty()) outputs = Invoke();
    else NDArray::invoke_into(name_.c_str(), ordered(), parameters_, outputs);
  }

 private:
  std::vector<NDArray> ordered() const {
    if (input_names_.empty()) return arrays_;
    LoomixOperatorInfo info{};
    detail::check(LoomixOperatorDescribe(name_.c_str(), &info));
    const std::vector<std::string> known = detail::texts(info.inputs, info.input_names);
    std::vector<NDArray> result;
    for (const std::string& name : known) {
      for (size_t i = 0; i < input_names_.size(); ++i) {
        if (input_names_[i] == name) result.push_back(arrays_.at(i));
      }
    }
    if (result.size() != arrays_.size())
      throw Error("[" + name_ + "] has no input of one of the names given.");
    return result;
  }

  std::string name_;
  detail::Pairs parameters_;
  std::vector<std::string> input_names_;
  std::vector<Symbol> symbols_;
  std::vector<NDArray> arrays_;
};

}  // namespace names
}  // namespace loomix::cpp
