// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// A row of floats times a matrix of halves, which is converted in registers: no copy of it goes through the cache.
namespace loomix::ops {

struct HalfRow {
  // sums[i] += row . the matrix's row i, for `count` rows of `depth` elements that are `step` elements apart.
  void (*dots)(int64_t count, int64_t depth, const float* row, const uint16_t* matrix, int64_t step,
               float* sums);
  // sums[j] += row[k] * the matrix's element (k, j), for `depth` rows of `count` elements.
  void (*adds)(int64_t count, int64_t depth, const float* row, const uint16_t* matrix, int64_t step,
               float* sums);
};

// Null where the instruction set converts no halves.
struct HalfRowLoops {
  const HalfRow *f16, *bf16;
};

}  // namespace loomix::ops
