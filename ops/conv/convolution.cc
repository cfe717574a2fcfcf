// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/convolution.h"

#include "base/error.h"
#include "ops/conv/deconvolution.h"
#include "ops/conv/deformable.h"
#include "ops/families.h"
#include "ops/linear/bilinear.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = ConvolutionParams;

bool is_channels_last(const Params& p) { return p.layout && channels_last(*p.layout); }

int64_t positions(const Params& p, int i, int64_t size) {
  const int64_t reach = value_or(p.dilate, i, 1) * (p.kernel[i] - 1) + 1;
  return (size + 2 * value_or(p.pad, i, 0) - reach) / value_or(p.stride, i, 1) + 1;
}

// What data, weight and output say about each other; `at` tells which argument of the operator each of them is. While
// data and output are unknown nothing is said of the weight, as in MXNet: scripts take () for "not known yet".
struct Places {
  int data, weight, out;  // inputs, or -1 for the output
};

void relate(const Params& p, ShapeInfer& s, const Places& at) {
  check_window(p, s.who());
  const auto get = [&](int place) -> const Shape& { return place < 0 ? s.out(0) : s.in(place); };
  const auto put = [&](int place, const Shape& shape) {
    place < 0 ? s.set_out(0, shape) : s.set_in(place, shape);
  };
  const int spatial = p.kernel.ndim();
  const bool last = is_channels_last(p);
  const int first = last ? 1 : 2;
  const int channel_axis = last ? spatial + 1 : 1;

  if (!get(at.data).ndim_known()) {
    if (!get(at.out).ndim_known()) return;
    put(at.data, Shape::filled(spatial + 2, kUnknownDim));
  }
  put(at.out, Shape::filled(spatial + 2, kUnknownDim));
  Shape data = get(at.data);
  LOOMIX_CHECK(data.ndim() == spatial + 2, ShapeError,
               "[{}] the data has shape {}; expected {} axes for kernel {}.", s.who(), data.to_string(),
               spatial + 2, p.kernel.to_string());
  const Shape known_weight = get(at.weight);
  if (data[channel_axis] < 0 && known_weight.ndim() == spatial + 2 && known_weight[channel_axis] >= 0) {
    data[channel_axis] = known_weight[channel_axis] * p.num_group;
  }
  if (data[0] < 0) data[0] = get(at.out)[0];
  put(at.data, data);

  Shape weight = Shape::filled(spatial + 2, kUnknownDim);
  Shape out = data;
  weight[0] = p.num_filter;
  out[channel_axis] = p.num_filter;
  if (data[channel_axis] >= 0) {
    LOOMIX_CHECK(data[channel_axis] % p.num_group == 0, ShapeError,
                 "[{}] the data has shape {}; its {} channels are no multiple of num_group {}.", s.who(),
                 data.to_string(), data[channel_axis], p.num_group);
    weight[channel_axis] = data[channel_axis] / p.num_group;
  }
  for (int i = 0; i < spatial; ++i) {
    weight[first + i] = p.kernel[i];
    if (data[first + i] < 0) continue;
    out[first + i] = positions(p, i, data[first + i]);
    LOOMIX_CHECK(out[first + i] > 0, ShapeError,
                 "[{}] kernel {} with dilate {} and pad {} is larger than the data of shape {}.", s.who(),
                 p.kernel.to_string(), p.dilate.to_string(), p.pad.to_string(), data.to_string());
  }
  put(at.weight, weight);
  put(at.out, out);
}

double cost(const Params& p, const KernelSpec& spec) {
  const double image = static_cast<double>(std::max(spec.in[0].size(), spec.out[0].size()));
  return 1000 + 0.01 * image * p.num_filter * static_cast<double>(p.kernel.size());
}

template <class P>
void add(OpTable& table, const char* name, const char* doc) {
  static constexpr bool kV1 = std::is_same_v<P, ConvolutionV1Params>;
  static constexpr Bilinear kOps =
      kV1 ? Bilinear{"Convolution_v1", "_backward_Convolution_v1_data", "_backward_Convolution_v1_weight"}
          : Bilinear{"Convolution", "_backward_Convolution_data", "_backward_Convolution_weight"};
  static constexpr const char* kBias = kV1 ? "_backward_Convolution_v1_bias" : "_backward_Convolution_bias";
  table.add<P>(name)
      .doc(doc)
      .inputs({"data", "weight", "bias"})
      .last_input_if([](const P& p) { return !p.no_bias; })
      .output("output")
      .infer_shape([](const P& p, ShapeInfer& s) {
        relate(p, s, {.data = 0, .weight = 1, .out = -1});
        if (!p.no_bias) s.set_in(2, Shape{p.num_filter});
      })
      .infer_type(same_type<P>)
      .types(kFloatingTypes)
      .cost([](const P& p, const KernelSpec& spec) { return cost(p, spec); })
      .gradient([](const P& p, GradBuilder& g) {
        bilinear_gradient(kOps, g);
        if (!p.no_bias && g.wants(2)) g.set(2, call_with(g, kBias, {g.grad_of(0)}));
      });
  table.add<P>(kOps.fa)
      .hidden()
      .inputs({"grad", "weight", "data"})
      .shape_only(2)
      .output("output")
      .infer_shape([](const P& p, ShapeInfer& s) {
        s.set_in(2, s.out(0));
        relate(p, s, {.data = 2, .weight = 1, .out = 0});
        s.set_out(0, s.in(2));
      })
      .infer_type(same_type<P>)
      .types(kFloatingTypes)
      .cost([](const P& p, const KernelSpec& spec) { return cost(p, spec); })
      .gradient([](const P&, GradBuilder& g) { bilinear_gradient_a(kOps, g, without_bias(*g.attrs())); });
  table.add<P>(kOps.fb)
      .hidden()
      .inputs({"grad", "data", "weight"})
      .shape_only(2)
      .output("output")
      .infer_shape([](const P& p, ShapeInfer& s) {
        s.set_in(2, s.out(0));
        relate(p, s, {.data = 1, .weight = 2, .out = 0});
        s.set_out(0, s.in(2));
      })
      .infer_type(same_type<P>)
      .types(kFloatingTypes)
      .cost([](const P& p, const KernelSpec& spec) { return cost(p, spec); })
      .accumulates()
      .gradient([](const P&, GradBuilder& g) { bilinear_gradient_b(kOps, g, without_bias(*g.attrs())); });
  table.add<P>(kBias)
      .hidden()
      .input("grad")
      .output("output")
      .infer_shape([](const P& p, ShapeInfer& s) { s.set_out(0, Shape{p.num_filter}); })
      .infer_type(same_type<P>)
      .types(kFloatingTypes)
      .accumulates();
}

}  // namespace

void check_window(const ConvolutionParams& p, const char* who) {
  const int spatial = p.kernel.ndim();
  LOOMIX_CHECK(spatial >= 1 && spatial <= 3, ValueError, "[{}] kernel is {}; expected one to three numbers.",
               who, p.kernel.to_string());
  LOOMIX_CHECK(!p.layout || spatial_axes(*p.layout) == spatial, ValueError,
               "[{}] kernel is {}, but layout asks for {} numbers.", who, p.kernel.to_string(),
               spatial_axes(*p.layout));
  for (const Shape* list : {&p.stride, &p.dilate, &p.pad}) {
    LOOMIX_CHECK(list->ndim() == 0 || list->ndim() == spatial, ValueError,
                 "[{}] stride {}, dilate {}, pad {}: expected {} numbers each, or none.", who,
                 p.stride.to_string(), p.dilate.to_string(), p.pad.to_string(), spatial);
  }
  for (int i = 0; i < spatial; ++i) {
    LOOMIX_CHECK(
        p.kernel[i] > 0 && value_or(p.stride, i, 1) > 0 && value_or(p.dilate, i, 1) > 0 &&
            value_or(p.pad, i, 0) >= 0,
        ValueError,
        "[{}] kernel {}, stride {}, dilate {}, pad {}: all but pad must be positive, pad not negative.", who,
        p.kernel.to_string(), p.stride.to_string(), p.dilate.to_string(), p.pad.to_string());
  }
  LOOMIX_CHECK(p.num_filter % p.num_group == 0, ValueError,
               "[{}] num_filter {} is no multiple of num_group {}.", who, p.num_filter, p.num_group);
}

ConvGeometry::ConvGeometry(const ConvolutionParams& p, const Shape& data)
    : channels_last(is_channels_last(p)) {
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
  register_deconvolution(table);
  register_deformable(table);
  add<ConvolutionParams>(table, "Convolution", "Slides filters over one to three axes of the data.");
  add<ConvolutionV1Params>(table, "Convolution_v1", "Convolution by another name, for old files.");
}

}  // namespace loomix::ops
