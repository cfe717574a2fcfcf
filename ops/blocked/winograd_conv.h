// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/blocked/blocked.h"
#include "ops/blocked/winograd_weight.h"

// 3 x 3 convolutions of images in blocks of 8 channels by Winograd's method, where oneDNN has none: with AVX2 alone. A tile of
// 6 x 6 pixels d and a weight's tile U give 4 x 4 outputs A^T [U * (B^T d B)] A, whose products are 36 of matrices, over all
// tiles at once. Their sums have one order, so results do not depend on how the work is cut.
namespace loomix::ops {

class OpTable;

// Whether these run here.
bool has_winograd_conv();
// Whether they are faster than the direct method.
bool winograd_conv_pays(const ConvGeometry& g, bool training);
bool winograd_gradient_pays(const ConvGeometry& g);  // of the weight
// How many elements the weight takes.
int64_t winograd_conv_weight_size(const ConvGeometry& g);

// Before the kernels by oneDNN, which then get what is not for these.
void add_winograd_conv_kernels(OpTable& table);
void add_winograd_gradient_kernels(OpTable& table);

// One pass in numbers. The gradient of the data is a convolution of the output's gradient with turned filters.
struct WinogradConv {
  static constexpr int64_t kBlock = 8, kOut = 4, kTile = 6, kValues = kTile * kTile;
  static constexpr int64_t kFiltersAtOnce = 64;
  int64_t batch, channels, filters;  // of what is read, and of what is written
  int64_t in[2], out[2], pad[2];
  bool turned;

  explicit WinogradConv(const BlockedConvParams& p);
  int64_t tiles(int axis) const { return (out[axis] + kOut - 1) / kOut; }
  int64_t tiles() const { return batch * tiles(0) * tiles(1); }
  WinogradForm weight_form() const;
  // Elements of scratch memory for so many tiles: those of the data, from channel to channel apart so that they do not
  // meet in one set of the cache, and of some filters of the output.
  int64_t row() const { return channels + kBlock; }
  int64_t scratch(int64_t at_once) const { return kValues * at_once * (row() + kFiltersAtOnce); }
};

struct WinogradConvArrays {
  const float *data, *weight, *bias, *added;  // the last two may be null
  float* out;
  float low, high;
};

// The gradient of the weight is A^T [the sum over tiles of (G y G^T) * (B^T d B)] A, y being the output's gradient.
struct WinogradGradientLoops {
  // Brings a tile of the data and the gradient to a place of `at_once`.
  void (*transform)(const WinogradConv& c, const float* data, const float* grad, int64_t tile, int64_t place,
                    int64_t at_once, float* data_tiles, float* grad_tiles);
  // Sums over so many tiles, for one of their values and a panel of 16 filters; to those that are there if `add`.
  void (*add_up)(const WinogradConv& c, int64_t value, int64_t panel, int64_t tiles, int64_t at_once,
                 const float* data_tiles, const float* grad_tiles, float* sums, bool add);
  // The weight's gradient of a panel.
  void (*finish)(const WinogradConv& c, int64_t panel, const float* sums, float* weight);
};

struct WinogradConvLoops {
  // For some tiles, at most `at_once`, and some filters, whole blocks of 16.
  void (*run)(const WinogradConv& c, const WinogradConvArrays& arrays, int64_t first_tile, int64_t last_tile,
              int64_t first_filter, int64_t last_filter, int64_t at_once, float* scratch);
};

}  // namespace loomix::ops
