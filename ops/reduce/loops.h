// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace loomix::ops {

enum class Reduction : uint8_t {};  // a place in ReduceFunctors; see reduction_code in reductions.h

// An accumulator is eight bytes: a double, or an int64_t for int64 input. `rows` folds each of `rows` rows, `step` elements
// apart, into an accumulator of its own; `columns` folds element i of every row into accumulator i; `merge` accumulators into
// accumulators. `origin` is one number an accumulator, of its type, for functors that measure from one; others do not read it.
struct ReduceLoops {
  void (*init)(void* acc, int64_t count);
  void (*rows)(void* acc, const void* x, const void* origin, int64_t count, int64_t rows, int64_t step);
  void (*columns)(void* acc, const void* x, const void* origin, int64_t count, int64_t rows, int64_t step);
  void (*merge)(void* acc, const void* other, int64_t count);
};

// For float32, float64 and int64; other types are converted first.
const ReduceLoops& reduce_loops(Reduction op, DType dtype);

// The loops of one instruction set, by code.
struct ReduceTable {
  const ReduceLoops *f32, *f64, *i64;
};

}  // namespace loomix::ops
