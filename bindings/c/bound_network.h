// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ndarray/array_file.h"
#include "symbol/executor/bound_executor.h"

// What prediction needs of arrays and executors. The file that tools/amalgamate writes has one of its own, with these names.
namespace loomix::c {

using Weights = std::map<std::string, NDArray, std::less<>>;
using SharedValues = HeldValues;  // what predictors of one model share beyond its weights

const ops::OpTable& table();
void check_can_run(const Symbol& symbol);  // NotImplementedError that names operators and nodes
// Of a `.params` file, which errors call `name`. The arrays may lie in it: weights do so until BoundNetwork::settle.
ArrayList read_arrays(std::span<const std::byte> file, const char* name);
std::vector<float> float_elements(const NDArray& array);  // zeros of sparse ones included
// What an array is computed in that is given as `type`.
inline DType computed_type(DType type) { return type; }
NDArray zeros(const Shape& shape, DType type);
// All elements, given as `type`.
void write_elements(NDArray& array, const void* data, DType type);

// By the symbol's arguments and auxiliary states.
struct NetworkArrays {
  std::vector<NDArray> arguments, states;
  std::vector<char> fixed;  // arguments that never change
};

// A network bound to arrays. Calls come one after the other.
class BoundNetwork {
 public:
  BoundNetwork(const Symbol& symbol, const NetworkArrays& arrays, const Ref<SharedValues>& shared);
  // Copies those of the weights that passes read, and lets go of the others: of the first network of a model.
  void settle(const Symbol& symbol, Weights& weights);

  void run();
  size_t num_outputs() const { return executor_->outputs().size(); }
  const Shape& output_shape(size_t i) const { return executor_->outputs()[i].shape(); }
  DType output_type(size_t i) const { return executor_->outputs()[i].dtype(); }
  void read_output(size_t i, void* data) const;

 private:
  Ref<BoundExecutor> executor_;
};

}  // namespace loomix::c
