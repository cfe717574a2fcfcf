// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ndarray/array_file.h"
#include "ndarray/ndarray.h"
#include "symbol/program.h"
#include "symbol/symbol.h"

namespace loomix::c {

using Weights = std::map<std::string, NDArray, std::less<>>;
using SharedValues = SharedConstants;

const ops::OpTable& table();
void check_can_run(const Symbol& symbol);
ArrayList read_arrays(std::span<const std::byte> file,
                      const char* name);  // in the types that they are kept in
std::vector<float> float_elements(const NDArray& array);
inline DType computed_type(DType type) { return kept_type(type); }
NDArray zeros(const Shape& shape, DType type);
void write_elements(NDArray& array, const void* data, DType type);

struct NetworkArrays {
  std::vector<NDArray> arguments, states;
  std::vector<char> fixed;
};

// A network compiled for arrays of fixed shapes.
class BoundNetwork {
 public:
  BoundNetwork(const Symbol& symbol, const NetworkArrays& arrays, const Ref<SharedValues>& shared);
  // Lets go what nothing reads any more: weights of 8 bits in their kernels' form. Their shapes and types stay.
  void settle(const Symbol& symbol, Weights& weights);

  void run() { program_->run(); }
  size_t num_outputs() const { return num_outputs_; }
  const Shape& output_shape(size_t i) const { return program_->output(static_cast<int>(i)).shape; }
  DType output_type(size_t i) const { return program_->output(static_cast<int>(i)).dtype; }
  void read_output(size_t i, void* data) const;

 private:
  std::optional<Program> program_;
  std::vector<NDArray> held_;     // what the program's variables are
  std::set<std::string> packed_;  // weights that only products of 8 bits read
  size_t num_outputs_;
};

}  // namespace loomix::c
