// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/blocked/blocked.h"
#include "ops/primitive_dnnl.h"

// What the convolutions of blocks and their gradients share.
namespace loomix::ops {

class OpTable;

namespace onednn {

inline constexpr int64_t kFewestPieces = 4;  // of a batch, where it has as many images

bool is_depthwise(const ConvGeometry& g);
// So many images that they have so many pixels, if the batch is a multiple of that many.
int64_t images_of(const ConvGeometry& g, int64_t pixels);
bool is_for_winograd(const ConvGeometry& g);

// How many images one piece of a batch has in training: at least four pieces if that can be, and so many pixels that
// what is done for each piece pays.
int64_t training_images(const ConvGeometry& g, bool winograd);
// Whether Winograd's method has enough pixels then.
bool is_for_winograd_in_training(const ConvGeometry& g);

// Whether blocks pay for such a convolution and its gradients.
bool is_worth_blocks(const ConvGeometry& g, bool data_is_blocked);
// Whether the data, a network's input, stay plain.
bool takes_plain_data(const ConvGeometry& g, bool data_is_blocked);

Desc image_desc(const BlockedConvParams& p, int64_t images, int64_t channels, const int64_t* size,
                bool is_plain);
Desc plain_weight_desc(const BlockedConvParams& p, const ConvGeometry& g, int64_t filters);

// The weight as the forward pass wants it.
Desc forward_weight(const BlockedConvParams& p);

// For LOOMIX_EXPLAIN=dispatch: why such a convolution does not run in blocks.
void explain_refusal(const BlockedConvParams& p, const dnnl::error& error);

// Arithmetic, or where each channel is a group, moving the data.
double blocked_conv_cost(const BlockedConvParams& p, const KernelSpec& spec);

Shape blocked_conv_data_shape(const BlockedConvParams& p);
Shape blocked_conv_out_shape(const BlockedConvParams& p);

}  // namespace onednn

}  // namespace loomix::ops
