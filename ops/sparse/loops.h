// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::ops {

// sum = values[0] rows[0] + values[1] rows[1] + ... for rows of `size` elements, in this order.
template <class T>
using WeightedRows = void (*)(const T* values, const T* const* rows, int64_t count, T* sum, int64_t size);

// The loops of one instruction set.
struct SparseLoops {
  WeightedRows<float> weighted_f32;
  WeightedRows<double> weighted_f64;
};

}  // namespace loomix::ops
