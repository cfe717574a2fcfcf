// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

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

// Of an array of images as passes know it: one that can be in blocks.
bool is_image(const TensorView& view);

// b on this machine: 16 with AVX-512, else 8.
int64_t channel_block();
// Whether there are convolutions of blocks here: oneDNN has them for AVX2.
bool has_blocked_convolution();
// Whose kernels these are, and for which vectors: "oneDNN 2.6.3 by 16"; empty if there are none.
std::string convolution_library();

// Whether images of this type are kept in blocks: float32, and bfloat16 where the processor multiplies it.
bool is_blocked_type(DType dtype);

// The blocked shape of an image's.
Shape blocked_shape(const Shape& image);
// Whether its channels fill the last block.
inline bool fills_blocks(const Shape& image) { return image[1] % channel_block() == 0; }

// Whether an operator only brings images into blocks, or back.
bool converts_layout(const OpDef& op);

struct UnblockParams {
  int64_t channels = 0;
  static void fields(FieldList<UnblockParams>& f) {
    f("channels", &UnblockParams::channels, "How many channels the image has.").required("64");
  }
};

template <class P>
void list_bounds(FieldList<P>& f) {
  f("low", &P::low, "Smaller elements of the output become this.");
  f("high", &P::high, "Larger elements of the output become this.");
}

// These attributes, with the clamp that follows; none if there is one already.
template <class P>
Ref<const AttrsBase> clamped(const P& p, const Clamp& clamp) {
  if (p.low || p.high) return {};
  P bounded = p;
  bounded.low = clamp.low;
  bounded.high = clamp.high;
  return make_attrs(std::move(bounded));
}

// A convolution of two axes in blocked form, with what may follow it at once: + an array, then bounds.
struct BlockedConvParams : ConvolutionParams {
  Shape image;  // shape of the data
  int64_t weight_size = 0;
  DType dtype = DType::float32;
  bool winograd = false;    // else the direct method
  int parts = 4;            // into how many the work on few images is cut
  bool plain_data = false;  // the data are not blocked; the output always is
  ConvPass pass = ConvPass::forward;
  bool training = false;
  bool add = false;
  std::optional<double> low, high;

  static void fields(FieldList<BlockedConvParams>& f) {
    using P = BlockedConvParams;
    list_window(f);
    list_others(f, kConvLayouts);
    f("image", &P::image, "Shape of the data.").required("(1, 64, 7, 7)");
    f("weight_size", &P::weight_size, "How many elements the weight has as the kernel wants it.")
        .required("1");
    f("dtype", &P::dtype, "Type of all arrays.").dtypes({DType::float32, DType::bfloat16});
    f("winograd", &P::winograd, "Winograd's method instead of the direct one.");
    f("parts", &P::parts, "Into how many parts the work is cut where there are fewer images.").at_least(1);
    f("plain_data", &P::plain_data, "The data are not in blocks.");
    f("pass", &P::pass, "The output, or which gradient.")
        .options({{"forward", ConvPass::forward}, {"data", ConvPass::data}, {"weight", ConvPass::weight}});
    f("training", &P::training, "The weight changes before each run.");
    f("add", &P::add, "There is a further input, which is added to the output.");
    list_bounds(f);
  }
};

// Of the attributes with which a weight is brought into the form that such a convolution wants: a name of the form, where it is
// the same for images of all sizes, else "". The prepared weight depends on the plain one and this name. None of other
// attributes.
std::optional<std::string> weight_form(const AttrsBase& attrs);
// The operator with the same attributes that makes the plain weight, but for rounding, from what `op` prepared. None for other
// operators, and for forms that cannot be undone.
const char* undoing_operator(const OpDef& op, const AttrsBase& attrs);

struct BlockedPoolingParams : PoolingParams {};

// The gradients of poolings.
struct BlockedPoolingGradientParams : PoolingParams {
  Shape image;  // shape of the data
  static void fields(FieldList<BlockedPoolingGradientParams>& f) {
    PoolingParams::fields(f);
    f("image", &BlockedPoolingGradientParams::image, "Shape of the data.").required("(1, 64, 7, 7)");
  }
};

// BatchNorm in training and its gradients, with what may follow at once: + an array, then max(x, 0).
struct BlockedBatchNormParams : BatchNormParams {
  bool add = false;
  bool relu = false;
  static void fields(FieldList<BlockedBatchNormParams>& f) {
    BatchNormParams::fields(f);
    f("add", &BlockedBatchNormParams::add, "There is a further input, which is added to the output.");
    f("relu", &BlockedBatchNormParams::relu, "max(x, 0) follows.");
  }
};

// Inference only: moving averages are the statistics.
struct BlockedNormParams : BatchNormParams {
  std::optional<double> low, high;
  static void fields(FieldList<BlockedNormParams>& f) {
    BatchNormParams::fields(f);
    list_bounds(f);
  }
};

}  // namespace loomix::ops
