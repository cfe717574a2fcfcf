// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string_view>

#include "ops/conv/convolution.h"
#include "ops/cuda/dnn.h"
#include "ops/image_form.h"
#include "ops/norm/batch_norm.h"
#include "ops/pool/pooling.h"
#include "ops/shape/shape.h"

// Which operators have kernels here for images with channels last, and by which attributes they know.
namespace loomix::ops {
namespace {

using Input = BlockedForm::Input;
using Rule = std::optional<BlockedForm> (*)(const AttrsBase& attrs, const KernelSpec& spec,
                                            BlockedInputs inputs);
constexpr Input kImage = Input::blocked, kPlain = Input::plain, kWeight = Input::prepared;

constexpr int kChannels = 1, kChannelsLast = 3;  // the axis, of four
bool is_channel_axis(int axis) { return axis == kChannels || axis == kChannels - 4; }

ImageForm::Conversion into() { return {"transpose", make_attrs(TransposeParams{Shape{0, 2, 3, 1}})}; }
ImageForm::Conversion back(const Shape&) {
  return {"transpose", make_attrs(TransposeParams{Shape{0, 3, 1, 2}})};
}

// What a library converts for a convolution. In prediction weights are left out on both sides of the comparison: what is held in this
// form is not converted in a run.
int64_t converted_bytes(const KernelSpec& spec) {
  return spec.in[0].bytes() + (spec.training ? spec.in[1].bytes() : 0) + spec.out[0].bytes();
}

template <class P>
Ref<const AttrsBase> in_last_axis(P p) {
  p.layout = Layout::NHWC;
  return make_attrs(std::move(p));
}

// Whether the library has this convolution in that order: plain sums are slower than what converts.
bool is_taken(ConvolutionParams p, ConvPass pass, const KernelSpec& spec) {
  const Shape& data = (pass == ConvPass::data      ? spec.out[0]
                       : pass == ConvPass::forward ? spec.in[0]
                                                   : spec.in[1])
                          .shape;
  CudnnOptions options = cudnn_options(p);
  if (p.cudnn_off || options.only == ConvAlgorithm::direct) return false;
  options.measure = false;
  p.layout = Layout::NHWC;
  const ConvGeometry geometry(p, {data[0], data[2], data[3], data[1]});
  return cuda::plan_convolution(geometry, pass, spec.out[0].dtype, options) != nullptr;
}

// Of a convolution or a gradient of it, whose inputs are these. A library whose multiplications want channels last converts all that
// it is given in another order. It has other kernels for groups: these run on what they get.
template <ConvPass pass, Input... inputs>
std::optional<BlockedForm> conv_form(const AttrsBase& attrs, const KernelSpec& spec, BlockedInputs given) {
  const auto& p = attrs.as<ConvolutionParams>();
  if (p.kernel.ndim() != 2 || channels_last(p.layout) || (p.num_group > 1 && !given.any())) return {};
  if (!is_taken(p, pass, spec)) return {};
  BlockedForm form{.attrs = in_last_axis(p), .inputs = {inputs...}};
  form.inputs.resize(spec.in.size(), kPlain);  // the bias, if there is one
  if (p.num_group == 1) form.spared_bytes = converted_bytes(spec);
  return form;
}

std::optional<BlockedForm> bias_form(const AttrsBase& attrs, const KernelSpec&, BlockedInputs given) {
  const auto& p = attrs.as<ConvolutionParams>();
  if (p.kernel.ndim() != 2 || channels_last(p.layout) || !given.any()) return {};
  return BlockedForm{.attrs = in_last_axis(p), .inputs = {kImage}, .outputs = {false}};
}

// Windows keep the places of maxima in one order, whatever that of the data.
template <Input... inputs>
std::optional<BlockedForm> pool_form(const AttrsBase& attrs, const KernelSpec& spec, BlockedInputs given) {
  const auto& p = attrs.as<PoolingParams>();
  if (spec.in[0].shape.ndim() != 4 || channels_last(p.layout) || !given.any()) return {};
  BlockedForm form{.attrs = in_last_axis(p), .inputs = {inputs...}};
  if (sizeof...(inputs) == 1) form.outputs.push_back(false);  // the places
  return form;
}

template <class P, Input... images>
std::optional<BlockedForm> norm_form(const AttrsBase& attrs, const KernelSpec& spec, BlockedInputs given) {
  const auto& p = attrs.as<P>();
  if (spec.in[0].shape.ndim() != 4 || !is_channel_axis(p.axis) || !given.any()) return {};
  P last = p;
  last.axis = kChannelsLast;
  BlockedForm form{
      .attrs = make_attrs(std::move(last)), .inputs = {images...}, .outputs = {true, false, false}};
  form.inputs.resize(spec.in.size(), kPlain);
  return form;
}

std::optional<BlockedForm> concat_form(const AttrsBase& attrs, const KernelSpec& spec, BlockedInputs given) {
  const auto& p = attrs.as<ConcatParams>();
  if (spec.in[0].shape.ndim() != 4 || !is_channel_axis(p.dim) || !given.any()) return {};
  ConcatParams last = p;
  last.dim = kChannelsLast;
  return BlockedForm{.attrs = make_attrs(std::move(last)),
                     .inputs = std::vector<Input>(spec.in.size(), kImage),
                     .outputs = std::vector<bool>(spec.out.size(), true)};
}

const std::map<std::string_view, Rule> kRules = {
    {"Convolution", conv_form<ConvPass::forward, kImage, kWeight>},
    {"_backward_Convolution_data", conv_form<ConvPass::data, kImage, kWeight, kImage>},
    {"_backward_Convolution_weight", conv_form<ConvPass::weight, kImage, kImage, kWeight>},
    {"_backward_Convolution_bias", bias_form},
    {"Pooling", pool_form<kImage>},
    {"_backward_Pooling_max", pool_form<kImage, kPlain, kImage>},
    {"_backward_Pooling_mean", pool_form<kImage, kImage>},
    {"_backward_Pooling_norm", pool_form<kImage, kImage, kImage>},
    {"BatchNorm", norm_form<BatchNormParams, kImage>},
    {"_backward_BatchNorm", norm_form<BatchNormParams, kImage, kImage>},
    {"_backward_BatchNorm_free_gamma", norm_form<BatchNormParams, kImage, kImage>},
    {"Concat", concat_form},
    {"_backward_concat", concat_form},
};

std::optional<BlockedForm> form_of(const ImageForm& images, const OpDef& op, const AttrsBase& attrs,
                                   const KernelSpec& spec, BlockedInputs given) {
  if (!images.types.contains(spec.in[0].dtype)) return {};
  for (const TensorView& array : spec.in) {
    if (array.shape.size() == 0) return {};
  }
  auto form = kRules.at(op.name)(attrs, spec, given);
  if (form) form->op = op.name.c_str();
  return form;
}

}  // namespace
}  // namespace loomix::ops

// Looked up by channels_last_images().
extern "C" [[gnu::visibility("default")]] const loomix::ops::ImageForm loomix_channels_last{
    .into = loomix::ops::into,
    .back = loomix::ops::back,
    .fits = [](const loomix::Shape&) { return true; },
    .knows = [](const loomix::ops::OpDef& op) { return loomix::ops::kRules.contains(op.name); },
    .of = loomix::ops::form_of};
