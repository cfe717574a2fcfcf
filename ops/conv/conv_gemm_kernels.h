// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/conv/convolution.h"

// The pieces of convolution by matrix products that are compiled once per instruction set. float32, channels first;
// everything is of one group of one image.
//
// A tile product multiplies a block of up to `rows` matrix rows, kept in registers, with a panel `width` columns wide.
// Forward, the rows are filters, the columns pixels, and the panel is a piece of the unfolded image [depth][width].
namespace loomix::ops {

struct ConvGemmKernels {
  int64_t rows;   // most rows of a block
  int64_t width;  // columns of a panel
  int64_t lanes;  // floats of a vector

  // Packs a (count, depth) matrix into blocks of at most `rows` rows, each stored [depth][rows of the block]: element
  // (i, k) is read at from[i * row_step + k * depth_step].
  void (*pack_rows)(int64_t count, int64_t depth, const float* from, int64_t row_step, int64_t depth_step,
                    float* to);
  // Copies an image with its zeros at the sides. The functions below read up to kSurplus floats behind it.
  void (*pad)(const ConvGeometry& g, const float* image, float* to);
  // The output's pixels [first, first + width) of all filters. `panel` holds depth * width + kSurplus floats.
  void (*forward)(const ConvGeometry& g, const float* padded_image, const float* weight, bool is_packed,
                  const float* bias, int64_t first, float* panel, float* out);
  // The whole gradient of the data, from that of the output; `scratch` holds (rows + filters) * width floats and a
  // padded image.
  void (*to_data)(const ConvGeometry& g, const float* grad, const float* packed_weight, float* scratch,
                  float* out);
  // c = bias + a b, or c += a b, for a block of rows and columns, as `tile_any` in simd_tile.h.
  void (*tile)(int64_t rows, int64_t columns, int64_t depth, const float* a, int64_t a_row, int64_t a_step,
               const float* b, int64_t b_row, float* c, int64_t c_row, const float* bias, bool add);
  // Adds to sums[filters][padded depth]; `unfolded` holds pixels_at_once * padded depth + kSurplus floats.
  void (*to_weight)(const ConvGeometry& g, const float* grad, const float* padded_image,
                    int64_t pixels_at_once, float* unfolded, float* sums);
};

inline constexpr int64_t kSurplus = 16;

inline int64_t padded_image_size(const ConvGeometry& g) {
  return g.channels * (g.in[0] + 2 * g.pad[0]) * (g.in[1] + 2 * g.pad[1]) * (g.in[2] + 2 * g.pad[2]);
}

inline int64_t whole_lines(int64_t floats) { return (floats + 15) / 16 * 16; }  // of the cache

// Columns of the weight gradient's sums: whole vectors.
inline int64_t padded_depth(const ConvGeometry& g, int64_t lanes) {
  return (g.depth() + lanes - 1) / lanes * lanes;
}

}  // namespace loomix::ops
