// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace loomix::ops {

enum class Reduction : uint8_t { sum, prod, max, min, abs_sum, square_sum, nansum, nanprod, count };

// An accumulator is eight bytes: a double, or an int64_t for int64 input. `row` folds `count` elements into one,
// `into` element i into accumulator i, `merge` accumulators into accumulators.
struct ReduceLoops {
  void (*init)(void* acc, int64_t count);
  void (*row)(void* acc, const void* x, int64_t count);
  void (*into)(void* acc, const void* x, int64_t count);
  void (*merge)(void* acc, const void* other, int64_t count);
};

// For float32, float64 and int64; other types are converted first.
const ReduceLoops& reduce_loops(Reduction op, DType dtype);

struct ReduceTable {
  ReduceLoops f32[static_cast<int>(Reduction::count)];
  ReduceLoops f64[static_cast<int>(Reduction::count)];
  ReduceLoops i64[static_cast<int>(Reduction::count)];
};

}  // namespace loomix::ops
