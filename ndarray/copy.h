// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "ndarray/ndarray.h"

namespace loomix {

// Pushes `destination = source`, converting the type and going between devices where they differ. Shapes must be equal.
// Storage types may differ: a dense array takes a sparse one's values, and the reverse. Of dense arrays, the task also
// uses the Vars in `order` exclusively.
void copy(const NDArray& source, const NDArray& destination, std::span<engine::Var* const> order = {});

// A new array with the source's content.
NDArray copy_to(const NDArray& source, Device device);
NDArray cast(const NDArray& source, DType dtype);

// A box of elements inside an array: `offset` and `strides` count elements from the array's first one; strides may be
// zero or negative. Boxes come from slicing, so they lie inside of the array (checked: IndexError).
struct Strided {
  int64_t offset = 0;
  InlineVector<int64_t, 6> strides;
  static Strided whole(const Shape& shape);  // row-major
};

// Pushes `destination[to] = source[from]` over the axes of `shape`, converting the type. Same device, dense.
void copy_strided(const NDArray& source, const Strided& from, const NDArray& destination, const Strided& to,
                  const Shape& shape);

// Pushes `destination = value`, of the array or of a box in it.
void fill(const NDArray& destination, double value);
void fill_strided(const NDArray& destination, const Strided& to, const Shape& shape, double value);
NDArray zeros(engine::Engine& engine, const Shape& shape, DType dtype, Device device);

// Converts `count` elements; the kernel behind all of these. Ranges may coincide only if the sizes are equal.
void convert_elements(const void* source, DType from, void* destination, DType to, int64_t count);
// What a task that moves `bytes` on one core takes, for the engine's estimates.
uint32_t move_cost_ns(int64_t bytes);

}  // namespace loomix
