// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/grad_shape.h"
#include "ops/table.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

using Params = UpSamplingParams;

bool bilinear(const Params& p) { return p.sample_type == SampleType::bilinear; }

TextPairs deconvolution_attrs(const Params& p) {
  const DeconvolutionParams d = deconvolution_of(p);
  return {{"kernel", tuple_text(d.kernel)},
          {"stride", tuple_text(d.stride)},
          {"pad", tuple_text(d.pad)},
          {"num_filter", std::to_string(p.num_filter)},
          {"num_group", std::to_string(p.num_filter)}};
}

void bilinear_shape(const Params& p, ShapeInfer& s) {
  LOOMIX_CHECK(p.num_filter > 0, ValueError,
               "[{}] num_filter is {}; sample_type 'bilinear' needs the number of channels.", s.who(),
               p.num_filter);
  s.expect(0, s.in(0).ndim() == 4, "4 axes");
  const Shape kernel = deconvolution_of(p).kernel;
  s.set_in(1, Shape{p.num_filter, 1, kernel[0], kernel[1]});
  s.set_in(0, Shape{kUnknownDim, p.num_filter, kUnknownDim, kUnknownDim});
  Shape out = s.in(0);
  for (int axis = 2; axis < 4; ++axis) out[axis] = out[axis] < 0 ? kUnknownDim : out[axis] * p.scale;
  s.set_out(0, out);
}

void nearest_shape(const Params& p, ShapeInfer& s) {
  for (int i = 0; i < s.num_in(); ++i) s.expect(i, s.in(i).ndim() == 4, "4 axes");
  if (!s.in(0).is_known()) return;
  Shape out = s.in(0);
  for (int axis = 2; axis < 4; ++axis) out[axis] *= p.scale;
  for (int i = 1; i < s.num_in(); ++i) {
    const Shape& data = s.in(i);
    if (!data.is_known()) return;
    const bool fits = data[0] == out[0] && data[2] > 0 && data[3] > 0 && out[2] % data[2] == 0 &&
                      out[3] % data[3] == 0 && out[2] / data[2] == out[3] / data[3];
    LOOMIX_CHECK(fits, ShapeError,
                 "[{}] input {} has shape {}; its height and width must divide those of the output, {} and "
                 "{}, by one number, with the same batch.",
                 s.who(), i, data.to_string(), out[2], out[3]);
    LOOMIX_CHECK(p.multi_input_mode == MultiInput::concat || data[1] == out[1], ShapeError,
                 "[{}] input {} has shape {}; arrays that are added have the same channels, here {}.",
                 s.who(), i, data.to_string(), out[1]);
    if (p.multi_input_mode == MultiInput::concat) out[1] += data[1];
  }
  s.set_out(0, out);
}

// (gradient, inputs ...): the gradients of the inputs.
void backward_shape(const Params& p, ShapeInfer& s) {
  for (int i = 0; i < s.num_out(); ++i) s.tie({i + 1}, {i});
  grad_like_output(p, s, nearest_shape);
}

void gradient(const Params& p, GradBuilder& g) {
  if (bilinear(p)) {
    const TextPairs attrs = deconvolution_attrs(p);
    if (g.wants(0))
      g.set(0, g.call1("_backward_Deconvolution_data", {g.grad_of(0), g.in(1), g.in(0)}, attrs));
    if (g.wants(1))
      g.set(1, g.call1("_backward_Deconvolution_weight", {g.grad_of(0), g.in(0), g.in(1)}, attrs));
    return;
  }
  std::vector<GradValue> inputs = {g.grad_of(0)};
  for (int i = 0; i < p.num_args; ++i) inputs.push_back(g.in(i));
  const auto grads = g.call("_backward_UpSampling", inputs, g.attrs());
  for (int i = 0; i < p.num_args; ++i) g.set(i, grads[static_cast<size_t>(i)]);
}

}  // namespace

void UpSamplingParams::fields(FieldList<UpSamplingParams>& f) {
  f("scale", &Params::scale, "How many times larger height and width become.").required("2").at_least(1);
  f("num_filter", &Params::num_filter, "Channels of the data; only for bilinear sampling.").at_least(0);
  f("sample_type", &Params::sample_type, "Repeats elements, or slides a filter over them.")
      .options({{"bilinear", SampleType::bilinear}, {"nearest", SampleType::nearest}})
      .required("nearest");
  f("multi_input_mode", &Params::multi_input_mode,
    "Whether several arrays are joined along channels, or added.")
      .options({{"concat", MultiInput::concat}, {"sum", MultiInput::sum}});
  f("num_args", &Params::num_args, "How many arrays there are.").required("1").at_least(1);
  f("workspace", &Params::workspace, "Has no effect; was a limit in megabytes.")
      .type("long (non-negative)")
      .at_least(0);
}

DeconvolutionParams deconvolution_of(const UpSamplingParams& p) {
  const int64_t kernel = 2 * p.scale - p.scale % 2;
  const int64_t pad = p.scale / 2;
  DeconvolutionParams d;
  d.kernel = Shape{kernel, kernel};
  d.stride = Shape{p.scale, p.scale};
  d.pad = Shape{pad, pad};
  d.num_filter = p.num_filter;
  d.num_group = p.num_filter;
  return d;
}

ConvGeometry geometry_of(const UpSamplingParams& p, ConvPass pass, std::span<const TensorView> in,
                         std::span<const TensorView> out) {
  return geometry_of(deconvolution_of(p), pass, in, out);
}

ConvOperands operands_of(const UpSamplingParams&, ConvPass, std::span<const TensorView> in) {
  return {in[0], in[1]};
}

void register_upsampling(OpTable& table) {
  table.add<Params>("UpSampling")
      .doc("Makes images larger by a whole number.")
      .variadic("data", "num_args", &Params::num_args)
      .num_inputs([](const Params& p) { return bilinear(p) ? 2 : p.num_args; })
      .first_value([](const Params& p, int input) {
        return bilinear(p) && input == 1 ? R"(["bilinear", {}])" : nullptr;
      })
      .infer_shape(
          [](const Params& p, ShapeInfer& s) { bilinear(p) ? bilinear_shape(p, s) : nearest_shape(p, s); })
      .types(kFloatingTypes)
      .element_cost(0.3)
      .gradient(gradient);
  table.add_hidden<Params>("_backward_UpSampling", {"grad", "data"})
      .shape_only(1)
      .num_inputs([](const Params& p) { return p.num_args + 1; })
      .num_outputs([](const Params& p) { return p.num_args; })
      .infer_shape(backward_shape)
      .types(kFloatingTypes)
      .element_cost(1)
      .gradient([](const Params& p, GradBuilder& g) {
        std::vector<GradValue> grads;
        for (int i = 0; i < p.num_args; ++i) grads.push_back(g.grad_of(i));
        g.set(0, g.call("UpSampling", grads, g.attrs())[0]);
      });
}

}  // namespace loomix::ops
