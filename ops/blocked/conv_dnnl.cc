// SPDX-License-Identifier: Apache-2.0
#include "ops/blocked/conv_dnnl.h"

#include <algorithm>

#include "base/settings.h"
#include "base/tuple_text.h"
#include "ops/blocked/winograd_conv.h"

namespace loomix::ops {
namespace onednn {
namespace {

using Params = BlockedConvParams;

dnnl::memory::data_type type_of(DType dtype) {
  return dtype == DType::bfloat16 ? dnnl::memory::data_type::bf16 : kFloat;
}

// Too many zeros in the last blocks are not worth it.
double most_padding() { return channel_block() == 16 ? 1.4 : 1.15; }

double padding(int64_t channels) {
  const int64_t block = channel_block();
  return static_cast<double>((channels + block - 1) / block * block) / static_cast<double>(channels);
}

}  // namespace

bool is_depthwise(const ConvGeometry& g) { return g.groups > 1 && g.channels == 1 && g.filters == 1; }

int64_t images_of(const ConvGeometry& g, int64_t pixels) {
  int64_t images = 1;
  while (images < g.batch && (images * g.out_size() < pixels || g.batch % images != 0)) ++images;
  return images;
}

bool is_for_winograd(const ConvGeometry& g) {
  constexpr int64_t kFewestPixels = 49;
  if (has_winograd_conv()) return winograd_conv_pays(g, false);
  if (channel_block() != 16 || g.groups > 1 || g.channels < 32 || g.filters < 32) return false;
  for (int i = 1; i < 3; ++i) {
    if (g.kernel[i] != 3 || g.stride[i] != 1 || g.dilate[i] != 1 || g.pad[i] > 1) return false;
  }
  return g.batch * g.out_size() >= kFewestPixels;
}

int64_t training_images(const ConvGeometry& g, bool winograd) {
  int64_t images = images_of(g, winograd ? 392 : 128);
  while (images > 1 && (g.batch % images != 0 || g.batch / images < kFewestPieces)) --images;
  return images;
}

bool is_for_winograd_in_training(const ConvGeometry& g) {
  constexpr int64_t kFewestPixels = 300;
  if (has_winograd_conv()) return winograd_conv_pays(g, true);
  return is_for_winograd(g) && training_images(g, true) * g.out_size() >= kFewestPixels;
}

bool is_worth_blocks(const ConvGeometry& g, bool data_is_blocked) {
  constexpr int64_t kLargestDepthwise = 64;  // places of a filter
  if (g.groups > 1) {
    return is_depthwise(g) ? padding(g.groups) <= most_padding() && g.kernel_size() <= kLargestDepthwise
                           : g.channels % channel_block() == 0 && g.filters % channel_block() == 0;
  }
  if (padding(g.filters) > most_padding()) return false;
  if (takes_plain_data(g, data_is_blocked)) return true;
  return padding(g.channels) <= most_padding();
}

// A network's first layer, which oneDNN has kernels for.
bool takes_plain_data(const ConvGeometry& g, bool data_is_blocked) {
  return !data_is_blocked && g.groups == 1 && g.channels < 4;
}

Desc image_desc(const Params& p, int64_t images, int64_t channels, const int64_t* size, bool is_plain) {
  const Tag blocks = channel_block() == 16 ? Tag::nChw16c : Tag::nChw8c;
  return {{images, channels, size[1], size[2]}, type_of(p.dtype), is_plain ? Tag::nchw : blocks};
}

Desc plain_weight_desc(const Params& p, const ConvGeometry& g, int64_t filters) {
  const int64_t groups = g.groups > 1 ? filters / g.filters : 1;
  dnnl::memory::dims dims{filters / groups, g.channels, g.kernel[1], g.kernel[2]};
  if (g.groups > 1) dims.insert(dims.begin(), groups);
  return {dims, type_of(p.dtype), g.groups > 1 ? Tag::goihw : Tag::oihw};
}

void explain_refusal(const Params& p, const dnnl::error& error) {
  constexpr const char* kPasses[] = {"Convolution", "_backward_Convolution_data",
                                     "_backward_Convolution_weight"};
  explain_once(
      "dispatch",
      fmt::format("{}: no blocks for {} {}, kernel {}, stride {}, dilate {}, {} filters in {} groups: "
                  "oneDNN says '{}'",
                  kPasses[static_cast<size_t>(p.pass)], name_of(p.dtype), tuple_text(p.image),
                  tuple_text(p.kernel), tuple_text(p.stride), tuple_text(p.dilate), p.num_filter, p.num_group,
                  error.message));
}

// Arithmetic, or where each channel is a group, moving the data.
double blocked_conv_cost(const Params& p, const KernelSpec& spec) {
  const ConvGeometry g(p, p.image);
  constexpr double kNsPerByte = 0.04;
  const double flops_per_ns = p.plain_data ? 60 : 120;
  const double flops = 2.0 * static_cast<double>(g.batch * g.groups * g.filters * g.out_size() * g.depth());
  const auto bytes = static_cast<double>(spec.in[0].bytes() + spec.out[0].bytes());
  return 1000 + std::max(flops / flops_per_ns, bytes * kNsPerByte);
}

Shape blocked_conv_data_shape(const Params& p) { return p.plain_data ? p.image : blocked_shape(p.image); }

Shape blocked_conv_out_shape(const Params& p) {
  const ConvGeometry g(p, p.image);
  return blocked_shape({g.batch, g.groups * g.filters, g.out[1], g.out[2]});
}

}  // namespace onednn
}  // namespace loomix::ops
