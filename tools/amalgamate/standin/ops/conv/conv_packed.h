// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ops/conv/convolution.h"
#include "ops/packed_weight.h"
#include "ops/scratch_slots.h"

// Convolution of float32 images, channels first: matrix products of the packed weight and panels of the unfolded image, piece of the
// depth by piece, so that a panel stays in the cache. Weights that never change are packed once.
namespace loomix::ops {

// The pieces that use vectors. Everything is of one group of one image.
struct ConvPackedKernels {
  int64_t rows, width;  // of a tile
  void (*pack_rows)(int64_t count, int64_t depth, const float* from, int64_t row_step, float* to);
  void (*pad)(const ConvGeometry& g, const float* image, int64_t channel, float* to);
  // Adds filters [first_filter, last_filter) for the pixels of a panel: `panel` and `sums` are scratch memory.
  void (*panel)(const ConvGeometry& g, const float* image, bool padded, const float* packed,
                const float* bias, int64_t first_pixel, int64_t first_filter, int64_t last_filter,
                float* panel, float* sums, float* out, const ConvClosing& closing);
};

class ConvPacked final : public PackedWeight {
 public:
  ConvPacked(const ConvolutionParams& p, const KernelSpec& spec);
  void run(const ConvolutionParams& p, const KernelArgs& args) const;
  Packed packed_form(const TensorView& weight) const override;
  void use(Packed packed) override;
  void close(const ConvClosing& closing) override { closing_ = closing; }

 private:
  void pack_to(const float* weight, float* to) const;
  int64_t padded_floats() const;

  const ConvGeometry geometry_;
  const bool padded_;                // whether the image is copied with zeros around it
  int64_t panels_, chunks_, chunk_;  // of pixels, of filters, and the filters of a chunk
  size_t packed_bytes_ = 0, image_bytes_ = 0, slot_bytes_ = 0;
  int slots_;
  Packed packed_;
  ConvClosing closing_;
};

inline constexpr int64_t kConvDepth =
    256;  // of a piece: with its panel it takes half of a second cache at most

}  // namespace loomix::ops
