// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/dtype.h"

// Products of 8 bits: `pixels` rows of a panel, each `depth` bytes long, times a block of filters. Sums are exact, whatever the
// processor: where it multiplies numbers of one kind only, data of the other kind has its top bit turned, and 128 times the sum of
// the filter is added back.
namespace loomix::ops {

// What becomes of sums: + even + bias, * scale, + added * added_scale, max(x, 0), rounding. By filter, from the first one of a block.
struct WholeClosing {
  const int32_t* even;
  const float *bias, *scale;
  const uint8_t* added;  // null: nothing is added
  bool added_is_signed, relu;
  float added_scale;
  DType out_type;
};

inline constexpr int64_t kMostClosed = 64;

struct WholeTiles {
  int64_t lanes, filters, pixels;  // of a vector; of a whole block; of a tile
  bool is_signed;                  // data that the processor multiplies
  // Four neighbours of the depth of one vector of filters, from [filter][depth] to the processor's order.
  void (*arrange)(const int8_t* from, int8_t* to);
  // `quads`: fours of the depth. `vectors`: of filters. Sums are [pixel][filters]; there are one pixel, or those of a tile.
  void (*tile)(bool one_pixel, int64_t vectors, int64_t quads, const uint8_t* panel, int64_t panel_row,
               const int8_t* block, int32_t* sums);
  // Filters that have a channel each: sums of `taps` places of it, for `count` channels.
  void (*channels)(bool is_signed, int64_t count, int64_t taps, const uint8_t* const* places,
                   const int8_t* weight, int64_t weight_row, int32_t* sums);
  void (*turn)(const uint8_t* from, int64_t count, uint8_t flip, uint8_t* to);
  // At most kMostClosed.
  void (*close)(const int32_t* sums, int64_t count, const WholeClosing& closing, void* out);
};

}  // namespace loomix::ops
