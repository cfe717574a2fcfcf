// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The weight of a 3 x 3 convolution as Winograd's method multiplies it: each g becomes the tile U = G g G^T.
namespace loomix::ops {

// Where the values of the tiles lie, in elements; the filters of a block are neighbours.
struct WinogradForm {
  static constexpr int64_t kBlock = 16;
  int64_t tile = 4;                           // values along each side; 4 or 6
  int64_t filters = 0, channels = 0;          // multiples of kBlock
  int64_t filter_step = 0, channel_step = 0;  // in the plain weight
  bool turned = false;                        // by half a turn, for the gradient of the data
  int64_t value = 0;                          // from a value of a tile to the next one
  int64_t inner_blocks = 1;                   // of filters in an outer block
  int64_t outer = 0, inner = 0;               // from an outer block to the next one, and from an inner one
  int64_t channel = 0;                        // from a channel to the next one in a block
  int64_t blocks_of_channels =
      1;  // so many blocks of channels are `near` each other, and the groups of them `far`
  int64_t near = 0, far = 0;

  int64_t parts() const { return filters / kBlock * (channels / kBlock); }
};

struct WinogradLoops {
  // One part of a weight: a block of filters and one of channels.
  void (*transform)(const WinogradForm& form, int64_t part, const float* weight, float* out);
  // Back again, but for rounding.
  void (*restore)(const WinogradForm& form, int64_t part, const float* tiles, float* weight);
};

}  // namespace loomix::ops
