// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/array.h"

// The graph that a block computes, made by running its forward function on values without elements.
namespace loomix::nn {

class Parameter;

namespace detail {

class Trace {
 public:
  // Where an input of the graph comes from: an argument of the call, a parameter, or an array that the block made itself.
  struct Input {
    std::string name = {};
    int argument = -1;
    Parameter* parameter = nullptr;
    Array constant = {};
    Shape shape = {};  // empty: to be inferred
    int32_t type = LOOMIX_FLOAT32;
    Array value = {};
  };

  Trace() : outer_(current_trace()) { current_trace() = this; }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace() { current_trace() = outer_; }

  [[gnu::cold]] Array argument(int number, const Array& like) {
    return add({.name = "data" + std::to_string(number),
                .argument = number,
                .shape = like.shape(),
                .type = static_cast<int32_t>(like.dtype())});
  }
  [[gnu::cold]] Array parameter(Parameter& parameter, const std::string& name, const Shape& shape,
                                DType type) {
    for (const Input& input : inputs_) {
      if (input.parameter == &parameter) return input.value;
    }
    return add({.name = unique(name),
                .parameter = &parameter,
                .shape = shape.empty() || shape.count() <= 0 ? Shape() : shape,
                .type = static_cast<int32_t>(type)});
  }
  [[gnu::cold]] Array constant(const Array& array) {
    return add({.name = unique("constant"),
                .constant = array,
                .shape = array.shape(),
                .type = static_cast<int32_t>(array.dtype())});
  }

  [[gnu::cold]] std::string node_name(const char* op, const std::string& wanted) {
    return unique(place + (place.empty() ? "" : ".") + (wanted.empty() ? op : wanted));
  }
  [[gnu::cold]] Arrays outputs_of(LoomixSymbol symbol) {
    const Array whole = Array::traced(symbol, this);
    size_t count = 0;
    const char* const* names = nullptr;
    check(LoomixSymbolList(symbol, "outputs", &count, &names));
    if (count == 1) return {whole};
    Arrays result;
    for (size_t i = 0; i < count; ++i) {
      LoomixSymbol one = nullptr;
      check(LoomixSymbolGetOutput(symbol, i, &one));
      result.push_back(Array::traced(one, this));
    }
    return result;
  }

  // What a value's shape is for the arguments that the graph is traced with; the graph is for these alone then.
  [[gnu::cold]] Shape shape_of(const Array& value) {
    reads_shapes = true;
    const LoomixInferredShapes found = infer(value.symbol());
    const LoomixShape shape = found.outputs > 0 ? found.output_shapes[0] : LoomixShape{-1, {}};
    Shape result = from_c(shape);
    for (const int64_t size : result) {
      if (shape.axes < 0 || size < 0)
        throw Error("[Array] the shape of a value of the traced graph is not known yet.");
    }
    return result;
  }
  [[gnu::cold]] DType dtype_of(const Array& value) const {
    std::vector<const char*> names;
    std::vector<int32_t> types;
    for (const Input* input : inputs_of(value.symbol())) {
      names.push_back(input->name.c_str());
      types.push_back(input->type);
    }
    LoomixInferredTypes found;
    check(LoomixSymbolInferType(value.symbol(), names.size(), names.data(), types.data(), &found));
    if (found.outputs == 0 || found.output_types[0] < 0)
      throw Error("[Array] the type of a value of the traced graph is not known.");
    return static_cast<DType>(found.output_types[0]);
  }
  [[gnu::cold]] LoomixInferredShapes infer(LoomixSymbol symbol) const {
    std::vector<const char*> names;
    std::vector<LoomixShape> shapes;
    for (const Input* input : inputs_of(symbol)) {
      if (input->shape.empty()) continue;
      names.push_back(input->name.c_str());
      shapes.push_back(to_c(input->shape));
    }
    LoomixInferredShapes found;
    check(LoomixSymbolInferShape(symbol, names.size(), names.data(), shapes.data(), &found));
    return found;
  }
  // Those that a value depends on, in the order of LoomixSymbolList's "inputs".
  [[gnu::cold]] std::vector<const Input*> inputs_of(LoomixSymbol symbol) const {
    std::vector<const Input*> result;
    size_t count = 0;
    const char* const* names = nullptr;
    check(LoomixSymbolList(symbol, "inputs", &count, &names));
    for (size_t i = 0; i < count; ++i) {
      for (const Input& input : inputs_) {
        if (input.name == names[i]) result.push_back(&input);
      }
    }
    return result;
  }

  const std::vector<Input>& inputs() const { return inputs_; }
  std::string place;          // of the block that runs, from the root: nodes are named after it
  bool reads_shapes = false;  // the graph depends on shapes
  bool reads_mode = false;    // or on whether it is for training

 private:
  [[gnu::cold]] Array add(Input input) {
    LoomixSymbol made = nullptr;
    check(LoomixSymbolVariable(input.name.c_str(), nullptr, &made));
    input.value = Array::traced(made, this);
    inputs_.push_back(std::move(input));
    return inputs_.back().value;
  }
  [[gnu::cold]] std::string unique(const std::string& name) {
    for (auto& [known, times] : names_) {
      if (known == name) return unique(name + "_" + std::to_string(times++));
    }
    names_.push_back({name, 1});
    return name;
  }

  Trace* outer_;
  std::vector<Input> inputs_;
  std::vector<std::pair<std::string, int>> names_;
};

// While it lives, what runs is no part of a graph that is traced.
class Untraced {
 public:
  Untraced() : outer_(current_trace()) { current_trace() = nullptr; }
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;
  ~Untraced() { current_trace() = outer_; }

 private:
  Trace* outer_;
};

inline Trace*& current_trace() {
  thread_local Trace* trace = nullptr;
  return trace;
}

}  // namespace detail
}  // namespace loomix::nn
