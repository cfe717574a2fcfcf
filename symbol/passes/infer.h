// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "symbol/graph.h"

namespace loomix {

// What is known of every value, numbered as ValueIndex does; saved values stay unknown (see infer_saved).
struct Inference {
  std::vector<Shape> shapes;
  std::vector<DType> dtypes;
  std::vector<StorageType> stypes = {};  // by assign_storage; empty: all are dense

  StorageType stype(int value) const {
    return stypes.empty() ? StorageType::dense : stypes[static_cast<size_t>(value)];
  }
};

// Runs the operators' two-way rules until nothing more follows. `shapes`: what is known at first, one a value. Nodes of
// unknown operators say nothing. Throws ShapeError that names operator, node and its arguments.
void infer_shapes(const Graph& graph, std::span<Shape> shapes);
// With `shapes`, all of them known, types that depend on sizes are right, too: that of an index into a long axis.
void infer_dtypes(const Graph& graph, std::span<DType> dtypes, std::span<const Shape> shapes = {});

// Reads `__shape__` and `__dtype__` of variables into what is known.
void apply_variable_attrs(const Graph& graph, std::span<Shape> shapes, std::span<DType> dtypes);

// Shapes and types of the saved values from complete inputs and outputs.
void infer_saved(const Graph& graph, Inference& known);

}  // namespace loomix
