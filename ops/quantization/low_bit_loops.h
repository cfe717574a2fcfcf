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

// out[m * out_row + n] = the sum of left row m times right row n, times their scales, or is increased by it.
struct PanelProduct {
  const int16_t* left;  // (rows, left_row)
  int64_t left_row, rows;
  const float* left_scales;
  const int16_t* panels;
  int64_t panel_size, columns;  // numbers of a panel; rows of the right side
  const float* right_scales;    // to the end of the last panel
  int64_t pairs;                // of neighbours that are multiplied; at most 2^16
  float* out;
  int64_t out_row;
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

  // Products of two sides that are both rounded in each run. The right one lies in panels of so many of its rows, a pair of
  // neighbours of each in turn, so that lanes are outputs and nothing is summed across them. Numbers take 16 bits.
  int64_t panel_rows;
  void (*widen_row)(const int8_t* whole, int64_t count, int16_t* out);
  void (*multiply_panels)(const PanelProduct& product, bool add);
};

}  // namespace loomix::ops
