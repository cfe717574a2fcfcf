// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/convolution.h"

#include <algorithm>

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/conv/deconvolution.h"
#include "ops/conv/deformable.h"
#include "ops/linear/bilinear.h"

namespace loomix::ops {
namespace {

using Params = ConvolutionParams;

int64_t positions(const Params& p, int i, int64_t size) {
  const int64_t reach = value_or(p.dilate, i, 1) * (p.kernel[i] - 1) + 1;
  return (size + 2 * value_or(p.pad, i, 0) - reach) / value_or(p.stride, i, 1) + 1;
}

// What the output says of data: the batch, and sizes along axes with stride 1.
void infer_data(const Params& p, BilinearShapes& s, Shape data) {
  const Shape out = s.out();
  if (out.ndim() != data.ndim()) return;
  if (data[0] < 0) data[0] = out[0];
  const int first = channels_last(p.layout) ? 1 : 2;
  for (int i = 0; i < p.kernel.ndim(); ++i) {
    const int64_t size = out[first + i];
    if (data[first + i] >= 0 || size < 0 || value_or(p.stride, i, 1) != 1) continue;
    data[first + i] = size + value_or(p.dilate, i, 1) * (p.kernel[i] - 1) - 2 * value_or(p.pad, i, 0);
  }
  s.set_a(data);
}

double cost(const Params& p, const KernelSpec& spec) {
  const double image = static_cast<double>(std::max(spec.in[0].size(), spec.out[0].size()));
  return 1000 + 0.01 * image * p.num_filter * static_cast<double>(p.kernel.size());
}

constexpr Bilinear kOps{"Convolution", "_backward_Convolution_data", "_backward_Convolution_weight",
                        "_backward_Convolution_bias"};
constexpr Bilinear kV1Ops{"Convolution_v1", "_backward_Convolution_v1_data",
                          "_backward_Convolution_v1_weight", "_backward_Convolution_v1_bias"};

}  // namespace

std::optional<ConvAlgorithm> asked_for(const ConvolutionParams& p) {
  return p.algorithm ? p.algorithm : algorithm_of_setting();
}

void check_followed(const ConvolutionParams& p, std::span<const TensorView> in) {
  if (!p.algorithm || p.algorithm == ConvAlgorithm::direct) return;
  if (in[0].size() == 0 || in[1].size() == 0) return;
  detail::throw_error<NotImplementedError>(
      "[Convolution] the algorithm that is asked for cannot compute this one of {} {} on this device; "
      "LOOMIX_EXPLAIN=dispatch says why. Expected another `algorithm`, or none.",
      name_of(in[0].dtype), in[0].shape.to_string());
}

Support may_run(ConvAlgorithm algorithm, const ConvolutionParams& p) {
  const auto asked = asked_for(p);
  const bool stands_back = asked && (p.algorithm ? *asked != algorithm : algorithm < *asked);
  return stands_back ? Support::no("another algorithm is asked for") : Support::yes();
}

// What data, weight and output say about each other. While data and output are unknown nothing is said of the weight, as in
// MXNet: scripts take () for "not known yet".
void convolution_shapes(const ConvolutionParams& p, BilinearShapes& s) {
  check_window(p, s.who());
  Shape data = known_data(p, s);
  if (!data.ndim_known()) return;
  const int spatial = p.kernel.ndim();
  const int first = channels_last(p.layout) ? 1 : 2;
  const int channel_axis = channels_last(p.layout) ? spatial + 1 : 1;
  const Shape known_weight = s.b();
  if (data[channel_axis] < 0 && known_weight.ndim() == spatial + 2 && known_weight[channel_axis] >= 0) {
    data[channel_axis] = known_weight[channel_axis] * p.num_group;
  }
  s.set_a(data);

  Shape weight = Shape::filled(spatial + 2, kUnknownDim);
  Shape out = data;
  weight[0] = p.num_filter;
  out[channel_axis] = p.num_filter;
  check_groups(p, s, data, data[channel_axis]);
  if (data[channel_axis] >= 0) weight[channel_axis] = data[channel_axis] / p.num_group;
  for (int i = 0; i < spatial; ++i) {
    weight[first + i] = p.kernel[i];
    if (data[first + i] < 0) continue;
    out[first + i] = positions(p, i, data[first + i]);
    LOOMIX_CHECK(out[first + i] > 0, ShapeError,
                 "[{}] kernel {} with dilate {} and pad {} is larger than the data of shape {}.", s.who(),
                 tuple_text(p.kernel), tuple_text(p.dilate), tuple_text(p.pad), data.to_string());
  }
  s.set_b(weight);
  s.set_out(out);
  infer_data(p, s, std::move(data));
}

void check_window(const ConvolutionParams& p, const char* who) {
  const int spatial = p.kernel.ndim();
  LOOMIX_CHECK(spatial >= 1 && spatial <= 3, ValueError, "[{}] kernel is {}; expected one to three numbers.",
               who, tuple_text(p.kernel));
  LOOMIX_CHECK(!p.layout || spatial_axes(*p.layout) == spatial, ValueError,
               "[{}] kernel is {}, but layout asks for {} numbers.", who, tuple_text(p.kernel),
               spatial_axes(*p.layout));
  for (const Shape* list : {&p.stride, &p.dilate, &p.pad}) {
    LOOMIX_CHECK(list->ndim() == 0 || list->ndim() == spatial, ValueError,
                 "[{}] stride {}, dilate {}, pad {}: expected {} numbers each, or none.", who,
                 tuple_text(p.stride), tuple_text(p.dilate), tuple_text(p.pad), spatial);
  }
  for (int i = 0; i < spatial; ++i) {
    LOOMIX_CHECK(
        p.kernel[i] > 0 && value_or(p.stride, i, 1) > 0 && value_or(p.dilate, i, 1) > 0 &&
            value_or(p.pad, i, 0) >= 0,
        ValueError,
        "[{}] kernel {}, stride {}, dilate {}, pad {}: all but pad must be positive, pad not negative.", who,
        tuple_text(p.kernel), tuple_text(p.stride), tuple_text(p.dilate), tuple_text(p.pad));
  }
  LOOMIX_CHECK(p.num_filter % p.num_group == 0, ValueError,
               "[{}] num_filter {} is no multiple of num_group {}.", who, p.num_filter, p.num_group);
}

Shape known_data(const ConvolutionParams& p, BilinearShapes& s) {
  const int ndim = p.kernel.ndim() + 2;
  if (!s.a().ndim_known()) {
    if (!s.out().ndim_known()) return Shape::unknown();
    s.set_a(Shape::filled(ndim, kUnknownDim));
  }
  Shape data = s.a();
  LOOMIX_CHECK(data.ndim() == ndim, ShapeError, "[{}] the data has shape {}; expected {} axes for kernel {}.",
               s.who(), data.to_string(), ndim, tuple_text(p.kernel));
  s.set_out(Shape::filled(ndim, kUnknownDim));
  if (data[0] < 0) data[0] = s.out()[0];
  return data;
}

void check_groups(const ConvolutionParams& p, const BilinearShapes& s, const Shape& data, int64_t channels) {
  LOOMIX_CHECK(channels < 0 || channels % p.num_group == 0, ShapeError,
               "[{}] the data has shape {}; its {} channels are no multiple of num_group {}.", s.who(),
               data.to_string(), channels, p.num_group);
}

ConvGeometry::ConvGeometry(const ConvolutionParams& p, const Shape& data)
    : channels_last(ops::channels_last(p.layout)) {
  const int spatial = p.kernel.ndim();
  const int first = channels_last ? 1 : 2;
  batch = data[0];
  groups = p.num_group;
  channels = data[channels_last ? spatial + 1 : 1] / groups;
  filters = p.num_filter / groups;
  for (int i = 0; i < 3; ++i) {
    const int axis = i - (3 - spatial);
    in[i] = out[i] = kernel[i] = stride[i] = dilate[i] = 1;
    pad[i] = 0;
    if (axis < 0) continue;
    in[i] = data[first + axis];
    out[i] = positions(p, axis, in[i]);
    kernel[i] = p.kernel[axis];
    stride[i] = value_or(p.stride, axis, 1);
    dilate[i] = value_or(p.dilate, axis, 1);
    pad[i] = value_or(p.pad, axis, 0);
  }
}

ConvGeometry geometry_of(const ConvolutionParams& p, ConvPass pass, std::span<const TensorView> in,
                         std::span<const TensorView> out) {
  const TensorView& data = pass == ConvPass::data ? out[0] : in[pass == ConvPass::forward ? 0 : 1];
  return ConvGeometry(p, data.shape);
}

ConvOperands operands_of(const ConvolutionParams& p, ConvPass pass, std::span<const TensorView> in) {
  return {in[0], in[1], pass == ConvPass::forward && !p.no_bias ? &in[2] : nullptr};
}

void register_conv(OpTable& table) {
  add_bilinear<ConvolutionParams, kOps, convolution_shapes, cost>(table, "data", "weight")
      .doc("Slides filters over one to three axes of the data.")
      .with_bias([](const Params& p) -> Ref<const AttrsBase> {
        if (channels_last(p.layout)) return {};
        Params biased = p;
        biased.no_bias = false;
        return make_attrs(std::move(biased));
      });
  add_bilinear<ConvolutionV1Params, kV1Ops, convolution_shapes, cost>(table, "data", "weight")
      .doc("Convolution by another name, for old files.");
}

void register_closed_convolution(OpTable& table) {
  add_closed_bilinear<Params, convolution_shapes, cost>(table, "_relu_Convolution", "data", "weight");
}

}  // namespace loomix::ops
