// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/shape.h"
#include "ops/conv/convolution.h"
#include "ops/norm/batch_norm.h"
#include "ops/op.h"
#include "ops/pool/pooling.h"

// Images whose channels lie in blocks, as vector units want them: an array (batch, channels, height, width) as one of shape
// (batch, ceil(channels / b), height, width, b). What is left of the last block is zero. The pass `layout` chooses which values
// of a graph are kept so; users never see them.
namespace loomix::ops {

// b on this machine: 16 with AVX-512, else 8.
int64_t channel_block();
// Whether there are convolutions of blocks here: oneDNN has them for AVX2.
bool has_blocked_convolution();

// Whether images of this type are kept in blocks: float32, and bfloat16 where the processor multiplies it.
bool is_blocked_type(DType dtype);

// The blocked shape of an image's.
Shape blocked_shape(const Shape& image);
// Whether its channels fill the last block.
inline bool fills_blocks(const Shape& image) { return image[1] % channel_block() == 0; }

struct UnblockParams {
  int64_t channels = 0;
  static void fields(FieldList<UnblockParams>& f) {
    f("channels", &UnblockParams::channels, "How many channels the image has.").required("64");
  }
};

// A convolution of two axes in blocked form, with what may follow it at once: + an array, then max(x, 0).
struct BlockedConvParams : ConvolutionParams {
  Shape image;  // shape of the data
  int64_t weight_size = 0;
  DType dtype = DType::float32;
  bool winograd = false;    // else the direct method
  bool plain_data = false;  // the data are not blocked; the output always is
  bool add = false;
  bool relu = false;

  static void fields(FieldList<BlockedConvParams>& f) {
    using P = BlockedConvParams;
    list_window(f);
    list_others(f, kConvLayouts);
    f("image", &P::image, "Shape of the data.").required("(1, 64, 7, 7)");
    f("weight_size", &P::weight_size, "How many elements the weight has as the kernel wants it.")
        .required("1");
    f("dtype", &P::dtype, "Type of all arrays.").dtypes({DType::float32, DType::bfloat16});
    f("winograd", &P::winograd, "Winograd's method instead of the direct one.");
    f("plain_data", &P::plain_data, "The data are not in blocks.");
    f("add", &P::add, "There is a further input, which is added to the output.");
    f("relu", &P::relu, "The output is max(x, 0).");
  }
};

struct BlockedPoolingParams : PoolingParams {};

// Inference only: moving averages are the statistics.
struct BlockedNormParams : BatchNormParams {
  bool relu = false;
  static void fields(FieldList<BlockedNormParams>& f) {
    BatchNormParams::fields(f);
    f("relu", &BlockedNormParams::relu, "The output is max(x, 0).");
  }
};

}  // namespace loomix::ops
