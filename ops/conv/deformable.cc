// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/deformable.h"

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

const std::initializer_list<std::pair<std::string_view, Layout>> kLayouts = {
    {"NCDHW", Layout::NCDHW}, {"NCHW", Layout::NCHW}, {"NCW", Layout::NCW}};

template <class P>
void list_fields(FieldList<P>& f) {
  const char* const count = P::kModulated ? "int (non-negative)" : "int";
  P::list_window(f);
  f("num_filter", &P::num_filter, "Number of filters, the channels of the output.")
      .required("4")
      .type(count)
      .at_least(1);
  f("num_group", &P::num_group, "Groups of channels that do not mix.").type(count).at_least(1);
  f("num_deformable_group", &P::num_deformable_group, "Groups of channels that have offsets of their own.")
      .type(count)
      .at_least(1);
  f("workspace", &P::workspace, "Has no effect; was a limit in megabytes.")
      .type("long (non-negative)")
      .at_least(0);
  f("no_bias", &P::no_bias, "Leaves the bias out.");
  if constexpr (P::kModulated) {
    f("im2col_step", &P::im2col_step, "Has no effect; was the number of images at once.")
        .type(count)
        .at_least(1);
  }
  f("layout", &P::layout, "Order of the axes; NCHW.").options(kLayouts);
}

// Inputs: data, offset, (mask,) weight, (bias), after `first` others.
template <class P>
void relate(const P& p, ShapeInfer& s, int first) {
  check_window(p, s.who());
  LOOMIX_CHECK(p.kernel.ndim() == 2, ValueError, "[{}] kernel is {}; expected two numbers.", s.who(),
               tuple_text(p.kernel));
  const Shape& data = s.in(first);
  s.expect(first, data.ndim() == 4, "4 axes");
  if (!data.is_known()) return;
  LOOMIX_CHECK(
      data[1] % p.num_group == 0 && data[1] % p.num_deformable_group == 0, ShapeError,
      "[{}] data has shape {}; its channels are no multiple of num_group {} and num_deformable_group {}.",
      s.who(), data.to_string(), p.num_group, p.num_deformable_group);
  const ConvGeometry g(p, data);
  for (int i = 1; i < 3; ++i) {
    LOOMIX_CHECK(g.in[i] + 2 * g.pad[i] >= g.reach(i), ShapeError,
                 "[{}] kernel {} with dilate {} and pad {} is larger than the data of shape {}.", s.who(),
                 tuple_text(p.kernel), tuple_text(p.dilate), tuple_text(p.pad), data.to_string());
  }
  const int64_t taps = p.num_deformable_group * g.kernel_size();
  s.set_in(first + 1, Shape{data[0], 2 * taps, g.out[1], g.out[2]});
  if (P::kModulated) s.set_in(first + 2, Shape{data[0], taps, g.out[1], g.out[2]});
  s.set_in(first + (P::kModulated ? 3 : 2), Shape{p.num_filter, g.channels, g.kernel[1], g.kernel[2]});
}

Shape output_of(const ConvolutionParams& p, const Shape& data) {
  const ConvGeometry g(p, data);
  return {data[0], p.num_filter, g.out[1], g.out[2]};
}

template <class P>
void infer(const P& p, ShapeInfer& s) {
  relate(p, s, 0);
  if (!p.no_bias && s.in(0).ndim_known()) s.set_in(P::kModulated ? 4 : 3, Shape{p.num_filter});
  if (s.in(0).is_known()) s.set_out(0, output_of(p, s.in(0)));
}

template <class P>
void infer_backward(const P& p, ShapeInfer& s) {
  relate(p, s, 1);
  if (s.in(1).is_known()) s.set_in(0, output_of(p, s.in(1)));
  for (int i = 0; i < s.num_out(); ++i) s.set_out(i, s.in(i + 1));
}

template <class P>
double cost(const P& p, const KernelSpec& spec) {
  return 1000 +
         0.05 * static_cast<double>(spec.in[0].size()) * p.num_filter * static_cast<double>(p.kernel.size());
}

template <class P>
void add(OpTable& table, const std::string& name, const char* doc, const char* backward_name) {
  static const char* const backward = backward_name;
  static constexpr int kInputs = P::kModulated ? 4 : 3;
  auto op = table.add<P>(name, {"data", "offset"}).doc(doc);
  if (P::kModulated) op.input("mask");
  op.inputs({"weight", "bias"})
      .last_input_if([](const P& p) { return !p.no_bias; })
      .infer_shape(infer<P>)
      .types(kFloatingTypes)
      .cost(cost<P>)
      .gradient([](const P& p, GradBuilder& g) {
        std::vector<GradValue> inputs = {g.grad_of(0)};
        for (int i = 0; i < kInputs; ++i) inputs.push_back(g.in(i));
        const auto grads = g.call(backward, inputs, g.attrs());
        for (int i = 0; i < kInputs; ++i) g.set(i, grads[static_cast<size_t>(i)]);
        if (p.no_bias || !g.wants(kInputs)) return;
        g.set(kInputs,
              g.call1("_backward_Convolution_bias", {g.grad_of(0)},
                      {{"kernel", tuple_text(p.kernel)}, {"num_filter", std::to_string(p.num_filter)}}));
      });
  auto reverse = table.add_hidden<P>(backward, {"grad", "data", "offset"});
  if (P::kModulated) reverse.input("mask");
  reverse.input("weight").output("data").output("offset");
  if (P::kModulated) reverse.output("mask");
  reverse.output("weight").infer_shape(infer_backward<P>).types(kFloatingTypes).cost(cost<P>);
}

}  // namespace

void DeformableConvolutionParams::fields(FieldList<DeformableConvolutionParams>& f) { list_fields(f); }
void ModulatedDeformableConvolutionParams::fields(FieldList<ModulatedDeformableConvolutionParams>& f) {
  list_fields(f);
}

void register_deformable(OpTable& table) {
  add<DeformableConvolutionParams>(table, "_contrib_DeformableConvolution",
                                   "Convolution whose filters read the data at places moved by offsets.",
                                   "_backward__contrib_DeformableConvolution");
  add<ModulatedDeformableConvolutionParams>(
      table, "_contrib_ModulatedDeformableConvolution",
      "Convolution whose filters read the data at places moved by offsets, times a mask.",
      "_backward__contrib_ModulatedDeformableConvolution");
}

}  // namespace loomix::ops
