// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string_view>

#include "ops/conv/deconvolution.h"
#include "ops/cuda/dnn.h"
#include "ops/image_form.h"
#include "ops/norm/batch_norm.h"
#include "ops/pool/pooling.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/shape.h"
#include "ops/softmax/softmax.h"
#include "ops/vision/vision.h"

// Which operators have kernels here for images with channels last, and by which attributes they know.
namespace loomix::ops {
namespace {

using Input = BlockedForm::Input;
using Rule = std::optional<BlockedForm> (*)(const AttrsBase& attrs, const KernelSpec& spec,
                                            BlockedInputs inputs);
constexpr Input kImage = Input::blocked, kPlain = Input::plain, kWeight = Input::prepared;

constexpr int kAxes = 4;
constexpr int kChannels = 1, kChannelsLast = 3;  // the axis
bool is_channel_axis(int axis) { return axis == kChannels || axis == kChannels - kAxes; }
bool is_image(const TensorView& array) { return array.shape.ndim() == kAxes; }

// Where an axis of an image lies with channels last.
int last_axis_of(int64_t axis) {
  constexpr int kPlaces[kAxes] = {0, kChannelsLast, 1, 2};
  return kPlaces[axis < 0 ? axis + kAxes : axis];
}
Shape last_shape_of(const Shape& image) { return {image[0], image[2], image[3], image[1]}; }

// One channel, or one pixel: both orders are the same.
bool is_either(const Shape& image) { return image[1] == 1 || image[2] * image[3] == 1; }
ImageForm::Conversion reshaped(const Shape& to) {
  ReshapeParams params;
  params.shape = to;
  return {"Reshape", make_attrs(std::move(params))};
}

ImageForm::Conversion into(const Shape& image) {
  if (is_either(image)) return reshaped(last_shape_of(image));
  return {"transpose", make_attrs(TransposeParams{Shape{0, 2, 3, 1}})};
}
ImageForm::Conversion back(const Shape& image) {
  if (is_either(image)) return reshaped(image);
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

// The same of a deconvolution, by the geometry of the convolution of which it is the transpose.
template <ConvPass pass, Input... inputs>
std::optional<BlockedForm> deconv_form(const AttrsBase& attrs, const KernelSpec& spec, BlockedInputs given) {
  DeconvolutionParams p = attrs.as<DeconvolutionParams>();
  if (p.kernel.ndim() != 2 || channels_last(p.layout) || (p.num_group > 1 && !given.any())) return {};
  CudnnOptions options = cudnn_options(p);
  if (p.cudnn_off || options.only == ConvAlgorithm::direct) return {};
  options.measure = false;
  p.layout = Layout::NHWC;
  std::vector<TensorView> in(spec.in.begin(), spec.in.end()), out(spec.out.begin(), spec.out.end());
  for (std::vector<TensorView>* arrays : {&in, &out}) {
    for (TensorView& array : *arrays)
      array.shape = is_image(array) ? last_shape_of(array.shape) : array.shape;
  }
  if (!cuda::plan_convolution(geometry_of(p, pass, in, out), pass, spec.out[0].dtype, options)) return {};
  BlockedForm form{.attrs = make_attrs(std::move(p)), .inputs = {inputs...}};
  form.inputs.resize(spec.in.size(), kPlain);
  if (attrs.as<DeconvolutionParams>().num_group == 1) form.spared_bytes = converted_bytes(spec);
  return form;
}

template <class P>
std::optional<BlockedForm> bias_form(const AttrsBase& attrs, const KernelSpec&, BlockedInputs given) {
  const auto& p = attrs.as<P>();
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

// Those whose channels are always axis 1 become the operator that has an attribute for it.
template <class P, Input... images>
std::optional<BlockedForm> norm_form(const AttrsBase& attrs, const KernelSpec& spec, BlockedInputs given) {
  constexpr bool kHasAxis = std::is_base_of_v<BatchNormParams, P>;
  constexpr bool kIsForward = sizeof...(images) == 1;
  using Last = std::conditional_t<kHasAxis, P, BatchNormParams>;
  Last last{full_params(attrs.as<P>())};
  if (!is_image(spec.in[0]) || !is_channel_axis(last.axis) || !given.any()) return {};
  last.axis = kChannelsLast;
  BlockedForm form{
      .attrs = make_attrs(std::move(last)), .inputs = {images...}, .outputs = {true, false, false}};
  form.inputs.resize(spec.in.size(), kPlain);
  if (spec.out.size() == 4) form.outputs.push_back(true);  // where the result is positive
  if (!kHasAxis && kIsForward) form.op = "BatchNorm";
  else if (!kHasAxis)
    form.op = attrs.as<P>().fix_gamma ? "_backward_BatchNorm" : "_backward_BatchNorm_free_gamma";
  return form;
}

// Operators along one axis, of images to images.
template <class P, int P::*axis>
std::optional<BlockedForm> axis_form(const AttrsBase& attrs, const KernelSpec& spec, BlockedInputs given) {
  const auto all_images = [](std::span<const TensorView> arrays) {
    return std::ranges::all_of(arrays, is_image);
  };
  if (!all_images(spec.in) || !all_images(spec.out) || !given.any()) return {};
  P last = attrs.as<P>();
  last.*axis = last_axis_of(last.*axis);
  return BlockedForm{.attrs = make_attrs(std::move(last)),
                     .inputs = std::vector<Input>(spec.in.size(), kImage),
                     .outputs = std::vector<bool>(spec.out.size(), true)};
}

// Operators that know arrays as numbers of axes which repeat or add up where they have size 1. Inputs that are smaller are
// brought into the form, too.
std::optional<BlockedForm> broadcast_form(const AttrsBase& attrs, const KernelSpec& spec,
                                          BlockedInputs given) {
  if (!std::ranges::all_of(spec.in, is_image) || !is_image(spec.out[0])) return {};
  const auto largest = std::ranges::max_element(spec.in, {}, &TensorView::bytes);
  if (!given[static_cast<size_t>(largest - spec.in.begin())]) return {};
  return BlockedForm{.attrs = Ref<const AttrsBase>(&attrs),
                     .inputs = std::vector<Input>(spec.in.size(), kImage)};
}

// The attributes of a reduction of an image with channels last; none if what is left changes its order.
Ref<const AttrsBase> last_reduction(const ReduceParams& p, const Shape& image) {
  const AxisSet axes = axes_of(p, image);
  if (axes.none() || (!p.keepdims && !axes[kChannels] && !(axes[2] && axes[3]))) return {};
  ReduceParams last{.axis = Shape(), .keepdims = p.keepdims};
  for (int axis = 0; axis < kAxes; ++axis) {
    if (axes[static_cast<size_t>(axis)]) last.axis->push_back(last_axis_of(axis));
  }
  return make_attrs(std::move(last));
}

std::optional<BlockedForm> reduce_form(const AttrsBase& attrs, const KernelSpec& spec, BlockedInputs given) {
  if (!is_image(spec.in[0]) || !given.any()) return {};
  const auto& p = attrs.as<ReduceParams>();
  const auto last = last_reduction(p, spec.in[0].shape);
  if (!last) return {};
  return BlockedForm{.attrs = last, .inputs = {kImage}, .outputs = {p.keepdims}};
}

// (gradient of what was reduced, the image, whose shape matters only)
std::optional<BlockedForm> spread_form(const AttrsBase& attrs, const KernelSpec& spec, BlockedInputs given) {
  if (!is_image(spec.in[1]) || !given[1]) return {};
  const auto& p = attrs.as<ReduceParams>();
  const auto last = last_reduction(p, spec.in[1].shape);
  if (!last) return {};
  return BlockedForm{.attrs = last, .inputs = {p.keepdims ? kImage : kPlain, kImage}};
}

// The mean of all pixels, which is the one adaptive pooling of networks.
template <Input... inputs>
std::optional<BlockedForm> adaptive_form(const AttrsBase&, const KernelSpec& spec, BlockedInputs given) {
  const bool is_forward = sizeof...(inputs) == 1;
  const Shape& pooled = (is_forward ? spec.out : spec.in)[0].shape;
  if (pooled[2] * pooled[3] != 1 || !given[is_forward ? 0 : 1]) return {};
  return BlockedForm{.op = is_forward ? "mean" : "_backward_mean",
                     .attrs = make_attrs(ReduceParams{.axis = Shape{1, 2}, .keepdims = true}),
                     .inputs = {inputs...}};
}

const std::map<std::string_view, Rule> kRules = {
    {"Convolution", conv_form<ConvPass::forward, kImage, kWeight>},
    {"_backward_Convolution_data", conv_form<ConvPass::data, kImage, kWeight, kImage>},
    {"_backward_Convolution_weight", conv_form<ConvPass::weight, kImage, kImage, kWeight>},
    {"_backward_Convolution_bias", bias_form<ConvolutionParams>},
    {"Deconvolution", deconv_form<ConvPass::data, kImage, kWeight>},
    {"_backward_Deconvolution_data", deconv_form<ConvPass::forward, kImage, kWeight, kImage>},
    {"_backward_Deconvolution_weight", deconv_form<ConvPass::weight, kImage, kImage, kWeight>},
    {"_backward_Deconvolution_bias", bias_form<DeconvolutionParams>},
    {"Pooling", pool_form<kImage>},
    {"_backward_Pooling_max", pool_form<kImage, kPlain, kImage>},
    {"_backward_Pooling_mean", pool_form<kImage, kImage>},
    {"_backward_Pooling_norm", pool_form<kImage, kImage, kImage>},
    {"BatchNorm", norm_form<BatchNormParams, kImage>},
    {"_backward_BatchNorm", norm_form<BatchNormParams, kImage, kImage>},
    {"_backward_BatchNorm_free_gamma", norm_form<BatchNormParams, kImage, kImage>},
    {"_contrib_BatchNormWithReLU", norm_form<BatchNormReluParams, kImage>},
    {"_backward_BatchNormWithReLU", norm_form<BatchNormReluParams, kImage, kImage>},
    {"_backward_BatchNormWithReLU_free_gamma", norm_form<BatchNormReluParams, kImage, kImage>},
    {"_contrib_SyncBatchNorm", norm_form<SyncBatchNormParams, kImage>},
    {"_backward_SyncBatchNorm", norm_form<SyncBatchNormParams, kImage, kImage>},
    {"_backward_SyncBatchNorm_free_gamma", norm_form<SyncBatchNormParams, kImage, kImage>},
    {"Concat", axis_form<ConcatParams, &ConcatParams::dim>},
    {"_backward_concat", axis_form<ConcatParams, &ConcatParams::dim>},
    {"SliceChannel", axis_form<SplitParams, &SplitParams::axis>},
    {"slice_axis", axis_form<SliceAxisParams, &SliceAxisParams::axis>},
    {"_backward_slice_axis", axis_form<SliceAxisParams, &SliceAxisParams::axis>},
    {"softmax", axis_form<SoftmaxParams, &SoftmaxParams::axis>},
    {"_backward_softmax", axis_form<SoftmaxParams, &SoftmaxParams::axis>},
    {"log_softmax", axis_form<SoftmaxParams, &SoftmaxParams::axis>},
    {"_backward_log_softmax", axis_form<SoftmaxParams, &SoftmaxParams::axis>},
    {"broadcast_add", broadcast_form},
    {"broadcast_sub", broadcast_form},
    {"broadcast_mul", broadcast_form},
    {"broadcast_div", broadcast_form},
    {"_broadcast_reduce_to_like", broadcast_form},
    {"_broadcast_to_like", broadcast_form},
    {"sum", reduce_form},
    {"mean", reduce_form},
    {"max", reduce_form},
    {"min", reduce_form},
    {"_backward_sum", spread_form},
    {"_backward_mean", spread_form},
    {"_contrib_AdaptiveAvgPooling2D", adaptive_form<kImage>},
    {"_backward__contrib_AdaptiveAvgPooling2D", adaptive_form<kImage, kImage>},
};

std::optional<BlockedForm> form_of(const ImageForm& images, const OpDef& op, const AttrsBase& attrs,
                                   const KernelSpec& spec, BlockedInputs given) {
  if (!images.types.contains(spec.in[0].dtype)) return {};
  for (const TensorView& array : spec.in) {
    if (array.shape.size() == 0) return {};
  }
  auto form = kRules.at(op.name)(attrs, spec, given);
  if (form && form->op == nullptr) form->op = op.name.c_str();
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
