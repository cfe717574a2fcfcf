// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/c/bound_network.h"
#include "symbol/symbol.h"

namespace loomix::c {

using InputShapes = std::vector<std::pair<std::string, Shape>>;
using InputTypes = std::vector<std::pair<std::string, DType>>;

// A network and its weights, which never change. Its predictors share it, and what they compute from the weights alone.
class Model {
 public:
  // `outputs`: names of nodes or of their outputs; none for the network's own. `params` is read until settle() is done.
  Model(std::string_view json, std::span<const std::byte> params, std::span<const std::string> outputs);
  void settle(BoundNetwork& first) { first.settle(symbol_, weights_); }

  const Symbol& symbol() const { return symbol_; }
  const NDArray* weight(const std::string& name) const;  // null if there is none
  bool has_argument(const std::string& name) const;      // of the network, used for the outputs or not
  const Ref<SharedValues>& shared() const { return shared_; }

 private:
  Symbol symbol_;
  std::vector<std::string> arguments_;
  Weights weights_;
  const Ref<SharedValues> shared_ = make_ref<SharedValues>();
};

// A model bound to inputs of fixed shapes. Any thread may call; calls run one after the other.
class Predictor {
 public:
  Predictor(std::shared_ptr<const Model> model, const InputShapes& shapes, InputTypes types);
  // The same model and types for other shapes.
  std::shared_ptr<Predictor> reshape(const InputShapes& shapes) const;

  void set_input(std::string_view name, const void* data, size_t size);
  void forward();
  int forward_step(
      int step);  // a step for each node of the network, the last one predicts; how many are left after it
  void copy_output(size_t index, void* data, size_t size);
  std::span<const uint32_t> output_shape(size_t index) const;
  DType output_type(size_t index) const;
  BoundNetwork& network() { return *network_; }

 private:
  struct Input {
    NDArray array;
    DType given;  // what the caller's elements are
  };
  void bind(const InputShapes& shapes);
  Inferred<Shape> infer_shapes(InputShapes known) const;
  std::vector<DType> infer_types(const InputShapes& shapes) const;
  const NDArray& weight(const std::string& name, const Shape& shape) const;
  void check_output(size_t index) const;

  const std::shared_ptr<const Model> model_;
  const InputTypes types_;
  std::optional<BoundNetwork> network_;
  std::map<std::string, Input, std::less<>> inputs_;
  std::vector<std::vector<uint32_t>> output_shapes_;
  std::mutex mutex_;  // of the network
  bool ran_ = false;
};

}  // namespace loomix::c
