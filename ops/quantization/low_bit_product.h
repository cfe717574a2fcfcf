// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/engine.h"
#include "ops/scratch_slots.h"

// Products of rows of data, rounded to 8 bits in each run, with a weight of 8 bits and one scale a row.
namespace loomix::ops {

// Rows of data that are rounded into scratch memory.
struct RoundedRows {
  int64_t rows, columns;
  int8_t* whole;
  float* scales;

  int64_t row_bytes() const { return (columns + 63) / 64 * 64; }
  static size_t whole_bytes(int64_t rows, int64_t columns) {
    return aligned(static_cast<size_t>(rows * ((columns + 63) / 64 * 64)));
  }
  static size_t scale_bytes(int64_t rows) { return aligned(static_cast<size_t>(rows) * sizeof(float)); }
  void round(const float* data, engine::RunContext& context) const;
};

// Scratch memory that a thread needs for a product; there are slots of it for all threads.
size_t rounded_product_bytes(int64_t rows, int64_t columns);

// out (rows, hidden) = the product, or is increased by it.
void rounded_product(const RoundedRows& data, const int8_t* weight, const float* weight_scales,
                     int64_t hidden, float* out, bool add, ScratchSlots& slots, engine::RunContext& context);

}  // namespace loomix::ops
