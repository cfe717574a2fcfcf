// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ops/linalg/linalg.h"
#include "ops/shape_rule.h"
#include "ops/table.h"

// What schemas of operators on batches of matrices share.
namespace loomix::ops {

// Throws unless the shape, as far as it is known, is a batch of matrices that BLAS can count the elements of.
inline void check_matrices(const ShapeInfer& s, const Shape& shape, const char* name) {
  if (!shape.ndim_known()) return;
  LOOMIX_CHECK(shape.ndim() >= 2, ShapeError, "[{}] {} has shape {}; expected two axes or more.", s.who(),
               name, shape.to_string());
  for (const int64_t size : shape) {
    LOOMIX_CHECK(size <= std::numeric_limits<int32_t>::max(), ShapeError,
                 "[{}] {} has shape {}; an axis may have at most {} elements.", s.who(), name,
                 shape.to_string(), std::numeric_limits<int32_t>::max());
  }
}

// The shape with both of its last sizes known if one is; throws if they differ.
inline Shape square(const ShapeInfer& s, Shape shape, const char* name) {
  check_matrices(s, shape, name);
  if (!shape.ndim_known()) return shape;
  int64_t& rows = shape[shape.ndim() - 2];
  int64_t& columns = shape[shape.ndim() - 1];
  if (rows < 0) rows = columns;
  if (columns < 0) columns = rows;
  LOOMIX_CHECK(rows == columns, ShapeError, "[{}] {} has shape {}; expected square matrices.", s.who(), name,
               shape.to_string());
  return shape;
}

// The shape without its last `dropped` axes: (1,) where none is left, as in MXNet, unless NumPy's rule of shapes holds.
inline Shape without_last(const Shape& shape, int dropped) {
  if (!shape.ndim_known()) return shape;
  Shape out(shape.dims().first(static_cast<size_t>(shape.ndim() - dropped)));
  if (out.ndim() == 0 && !numpy_shapes()) out.push_back(1);
  return out;
}

// The shape with other last sizes.
inline Shape with_last(Shape shape, int64_t rows, int64_t columns) {
  shape[shape.ndim() - 2] = rows;
  shape[shape.ndim() - 1] = columns;
  return shape;
}

// A vector for each matrix, as long as it has rows; unknown for unknown ones.
inline Shape vectors_of(Shape matrices) {
  if (matrices.ndim_known()) matrices.resize(matrices.ndim() - 1);
  return matrices;
}

// A and the output are square matrices of one shape.
inline void tie_squares(ShapeInfer& s, int out = 0) {
  s.set_out(out, s.in(0));
  s.set_in(0, square(s, s.out(out), "A"));
  s.set_out(out, s.in(0));
}

// "_linalg_<name>", which is also called "linalg_<name>".
template <class P>
OpBuilder<P> add_linalg(OpTable& table, const std::string& name,
                        std::initializer_list<std::string_view> inputs) {
  auto op = table.add<P>("_linalg_" + name, inputs);
  return op.aliases({"linalg_" + name}).types(kMatrixTypes);
}

}  // namespace loomix::ops
