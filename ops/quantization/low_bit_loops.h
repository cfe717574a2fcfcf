// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The pieces of layers with weights of few bits that are compiled once per instruction set.
//
// One row of data times a weight takes as long as to read the weight. A vector of 32-bit words holds 4 or 8 neighbours of the
// weight in each lane; the data is turned around once, so that its numbers lie in lanes in the same way. Then a number of the
// weight is masked where it lies and becomes a float, 2^(place) times as large, which the data's number makes good for. That the
// numbers are stored with an offset is made good for by the data's sums.
namespace loomix::ops {

struct LowBitWeight {
  const uint8_t* rows;
  const float* scales;  // (rows, groups)
  int64_t columns, row_bytes, groups;
  int64_t group_size;  // of columns; 0: a row
  int bits;
};

struct LowBitLoops {
  // Floats of a row of data that is turned around.
  int64_t (*turned_size)(int bits, int64_t columns);
  void (*turn)(int bits, int64_t columns, const float* data, float* turned);
  // out[m * out_row + h] = data row m times weight row h, for h in [begin, end) and m < rows.
  void (*multiply)(const LowBitWeight& weight, int64_t begin, int64_t end, int64_t rows, const float* turned,
                   int64_t turned_row, float* out, int64_t out_row);
  // Row h of the weight as floats.
  void (*widen)(const LowBitWeight& weight, int64_t h, float* out);

  // Numbers of 8 bits on both sides. A row of data takes `padded` bytes, a multiple of 64, with zeros at its end.
  // Gives the scale; 0 for a row of zeros.
  float (*round)(int64_t columns, const float* data, int8_t* out);
  // The same, as sums of whole numbers of columns [first, first + count), of which there are at most 2^16.
  void (*multiply_whole)(const int8_t* weight, int64_t weight_row, int64_t begin, int64_t end, int64_t rows,
                         const int8_t* data, int64_t data_row, int64_t count, int32_t* out, int64_t out_row);
};

}  // namespace loomix::ops
