// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/blocked/blocked.h"
#include "ops/families.h"
#include "ops/shape/shape.h"
#include "ops/table.h"

// What runs on blocks of channels in training, beside convolutions: normalisations, poolings and joins, with their
// gradients.
namespace loomix::ops {
namespace {

using Input = BlockedForm::Input;
using Norm = BlockedBatchNormParams;
using PoolingGradient = BlockedPoolingGradientParams;

constexpr DTypeSet kBlockedTypes{DType::float32, DType::bfloat16};

// Inputs `first` to `last` have one number for each channel of the blocks of input `data`; gives that shape.
Shape infer_channels(ShapeInfer& s, int data, int first, int last) {
  constexpr const char* kExpected = "(batch, blocks, height, width, channels of a block)";
  if (!s.has_axes(data, 5, kExpected) || !s.in(data).is_known()) return Shape::unknown();
  s.expect(data, s.in(data)[4] == channel_block(), kExpected);
  const int64_t most = s.in(data)[1] * channel_block();
  for (int i = first; i <= last; ++i) {
    if (i > first) s.set_in(i, s.in(first));
    if (s.has_axes(i, 1, "(channels,)") && s.in(i).is_known())
      s.expect(i, s.in(i)[0] > most - channel_block() && s.in(i)[0] <= most, "as many numbers as channels");
  }
  return s.in(first);
}

void set_float_inputs(TypeInfer& t, int first, int last) {
  for (int i = first; i <= last; ++i) t.set_in(i, DType::float32);
}

// Data, output, and what is added to it are alike.
template <class Infer>
void tie_images(const Norm& p, Infer& infer) {
  if (p.add) infer.tie({0, 5});
  else infer.tie({0});
}

Norm blocked_params(const BatchNormParams& p) {
  Norm blocked;
  static_cast<BatchNormParams&>(blocked) = p;
  return blocked;
}

bool is_over_channels(const BatchNormParams& p) { return p.axis == 1 || p.axis == -3; }

// grad, data, mean, var, gamma, moving_mean, moving_var
std::optional<BlockedForm> norm_gradient_form(const BatchNormParams& p, const KernelSpec& spec,
                                              BlockedInputs blocked) {
  if (!blocked[1] || !is_image(spec.in[1]) || !is_over_channels(p)) return {};
  BlockedForm form{p.fix_gamma ? "_backward_blocked_batch_norm" : "_backward_blocked_batch_norm_free_gamma",
                   make_attrs(blocked_params(p)),
                   {Input::blocked, Input::blocked}};
  form.inputs.resize(7, Input::plain);
  form.outputs = {true, false, false};
  constexpr size_t kBeta = 2;
  Norm gated = blocked_params(p);
  gated.relu = true;
  form.gated = make_attrs(std::move(gated));
  form.gated_by = kBeta;
  return form;
}

Ref<const AttrsBase> close_norm(const Norm& p, Closing closing) {
  if (p.relu || (closing ? !closing->is_relu() : p.add)) return {};
  Norm closed = p;
  (closing ? closed.relu : closed.add) = true;
  return make_attrs(std::move(closed));
}

void add_norm_gradient(OpTable& table, const char* name, bool fixed_gamma) {
  auto op = table.add_hidden<Norm>(name, {"grad", "data", "mean", "var"});
  if (fixed_gamma) op.state("gamma");
  else op.input("gamma");
  op.state("moving_mean")
      .state("moving_var")
      .input("beta")
      .inputs_if([](const Norm& p, int input) { return input < 7 || p.relu; })
      .outputs({"data", "gamma", "beta"})
      .infer_shape([](const Norm& p, ShapeInfer& s) {
        s.tie({0, 1}, {});
        s.set_out(0, s.in(1));
        const Shape channels = infer_channels(s, 1, 2, p.relu ? 7 : 6);
        for (int i = 1; i < 3; ++i) s.set_out(i, channels);
      })
      .infer_type([](const Norm& p, TypeInfer& t) {
        t.tie({0, 1}, {});
        t.set_out(0, t.in(1));
        set_float_inputs(t, 2, p.relu ? 7 : 6);
        for (int i = 1; i < 3; ++i) t.set_out(i, DType::float32);
      })
      .types(kBlockedTypes)
      .inplace(0, 0)
      .inplace(1, 0)
      .training_matters()
      .element_cost(0.2);
  for (int i = 2; i < 8; ++i) op.input_types(i, {DType::float32});
  for (int i = 1; i < 3; ++i) op.output_types(i, {DType::float32});
}

void register_norms(OpTable& table) {
  auto norm = table.add_hidden<Norm>("_blocked_batch_norm", {"data", "gamma", "beta"});
  norm.state("moving_mean")
      .state("moving_var")
      .input("added")
      .inputs_if([](const Norm& p, int input) { return input < 5 || p.add; })
      .outputs({"output", "mean", "var"})
      .infer_shape([](const Norm& p, ShapeInfer& s) {
        tie_images(p, s);
        const Shape channels = infer_channels(s, 0, 1, 4);
        for (int i = 1; i < 3; ++i) s.set_out(i, channels);
      })
      .infer_type([](const Norm& p, TypeInfer& t) {
        tie_images(p, t);
        set_float_inputs(t, 1, 4);
        for (int i = 1; i < 3; ++i) t.set_out(i, DType::float32);
      })
      .types(kBlockedTypes)
      .inplace(0, 0)
      .inplace(5, 0)
      .training_matters()
      .element_cost(0.1)
      .again("_blocked_batch_norm_again",
             {input(0), input(1), input(2), output(1), output(2), input_if_any(5)})
      .closing(close_norm);
  for (int i = 1; i < 5; ++i) norm.input_types(i, {DType::float32});
  for (int i = 1; i < 3; ++i) norm.output_types(i, {DType::float32});
  auto again =
      table.add_hidden<Norm>("_blocked_batch_norm_again", {"data", "gamma", "beta", "mean", "var", "added"});
  again.inputs_if([](const Norm& p, int input) { return input < 5 || p.add; })
      .infer_shape([](const Norm& p, ShapeInfer& s) {
        tie_images(p, s);
        infer_channels(s, 0, 1, 4);
      })
      .infer_type([](const Norm& p, TypeInfer& t) {
        tie_images(p, t);
        set_float_inputs(t, 1, 4);
      })
      .types(kBlockedTypes)
      .inplace(0, 0)
      .inplace(5, 0)
      .element_cost(0.05);
  for (int i = 1; i < 5; ++i) again.input_types(i, {DType::float32});
  add_norm_gradient(table, "_backward_blocked_batch_norm", true);
  add_norm_gradient(table, "_backward_blocked_batch_norm_free_gamma", false);
  table.refine<BatchNormParams>("_backward_BatchNorm").blocked_form(norm_gradient_form);
  table.refine<BatchNormParams>("_backward_BatchNorm_free_gamma").blocked_form(norm_gradient_form);
}

Ref<const AttrsBase> gradient_attrs(const PoolingParams& p, const Shape& image) {
  PoolingGradient blocked;
  static_cast<PoolingParams&>(blocked) = p;
  blocked.image = image;
  return make_attrs(std::move(blocked));
}

// grad, places, data, of which only the shape is used. Places are in blocks where Pooling was.
std::optional<BlockedForm> max_gradient_form(const PoolingParams& p, const KernelSpec& spec,
                                             BlockedInputs blocked) {
  if (!blocked[1]) return {};
  return BlockedForm{"_backward_blocked_max_pooling",
                     gradient_attrs(p, spec.in[2].shape),
                     {Input::blocked, Input::blocked, Input::left_out}};
}

// grad, data, of which only the shape is used
std::optional<BlockedForm> mean_gradient_form(const PoolingParams& p, const KernelSpec& spec,
                                              BlockedInputs blocked) {
  if (!blocked.any() || !is_image(spec.in[1]) || channels_last(p.layout) || p.pool_type != PoolType::avg)
    return {};
  return BlockedForm{"_backward_blocked_average_pooling",
                     gradient_attrs(p, spec.in[1].shape),
                     {Input::blocked, Input::left_out}};
}

Shape pooled_in_blocks(const PoolingGradient& p, const ShapeInfer& s) {
  LOOMIX_CHECK(p.image.is_known() && p.image.ndim() == 4, ShapeError, "[{}] image is {}; expected 4 numbers.",
               s.who(), tuple_text(p.image));
  return blocked_shape(pooled(p, s, p.image));
}

void register_poolings(OpTable& table) {
  table.add_hidden<BlockedPoolingParams>("_blocked_max_pooling", {"data"})
      .outputs({"output", "places"})
      .infer_shape([](const BlockedPoolingParams& p, ShapeInfer& s) {
        if (!s.has_axes(0, 5, "(batch, blocks, height, width, channels of a block)") || !s.in(0).is_known())
          return;
        const Shape& in = s.in(0);
        const Shape out = pooled(p, s, {in[0], in[1] * in[4], in[2], in[3]});
        for (int i = 0; i < 2; ++i) s.set_out(i, {in[0], in[1], out[2], out[3], in[4]});
      })
      .infer_type([](const BlockedPoolingParams&, TypeInfer& t) {
        t.tie({0});
        t.set_out(1, DType::uint8);
      })
      .types(kBlockedTypes)
      .output_types(1, {DType::uint8})
      .element_cost(1);
  table.add_hidden<PoolingGradient>("_backward_blocked_max_pooling", {"grad", "places"})
      .infer_shape([](const PoolingGradient& p, ShapeInfer& s) {
        for (int i = 0; i < 2; ++i) s.set_in(i, pooled_in_blocks(p, s));
        s.set_out(0, blocked_shape(p.image));
      })
      .infer_type([](const PoolingGradient&, TypeInfer& t) {
        t.tie({0});
        t.set_in(1, DType::uint8);
      })
      .types(kBlockedTypes)
      .input_types(1, {DType::uint8})
      .element_cost(0.5);
  table.add_hidden<PoolingGradient>("_backward_blocked_average_pooling", {"grad"})
      .infer_shape([](const PoolingGradient& p, ShapeInfer& s) {
        s.set_in(0, pooled_in_blocks(p, s));
        s.set_out(0, blocked_shape(p.image));
      })
      .types(kBlockedTypes)
      .element_cost(0.5);
  table.refine<PoolingParams>("_backward_Pooling_max").blocked_form(max_gradient_form);
  table.refine<PoolingParams>("_backward_Pooling_mean").blocked_form(mean_gradient_form);
}

// grad, then the parts, of which only the shapes are used: the parts of the gradient.
std::optional<BlockedForm> concat_gradient_form(const ConcatParams& p, const KernelSpec& spec,
                                                BlockedInputs blocked) {
  if (!blocked.any() || (p.dim != 1 && p.dim != -3)) return {};
  for (size_t i = 1; i < spec.in.size(); ++i) {
    if (!blocked[i] || (i + 1 < spec.in.size() && !fills_blocks(spec.in[i].shape))) return {};
  }
  ConcatParams over_blocks = p;
  over_blocks.dim = 1;
  BlockedForm form{"_backward_concat", make_attrs(over_blocks), {}};
  form.inputs.assign(spec.in.size(), Input::blocked);
  form.outputs.assign(spec.out.size(), true);
  return form;
}

std::optional<BlockedForm> bias_gradient_form(const ConvolutionParams& p, const KernelSpec& spec,
                                              BlockedInputs blocked) {
  if (!blocked[0] || !is_image(spec.in[0]) || channels_last(p.layout)) return {};
  return BlockedForm{"_backward_blocked_conv_bias", make_attrs(p), {Input::blocked}, nullptr, {false}};
}

}  // namespace

void register_blocked_training(OpTable& table) {
  register_norms(table);
  register_poolings(table);
  table.refine<ConcatParams>("_backward_concat").blocked_form(concat_gradient_form);
  table.add_hidden<ConvolutionParams>("_backward_blocked_conv_bias", {"grad"})
      .infer_shape([](const ConvolutionParams& p, ShapeInfer& s) {
        s.has_axes(0, 5, "(batch, blocks, height, width, channels of a block)");
        s.set_out(0, {p.num_filter});
      })
      .types(kBlockedTypes);
  table.refine<ConvolutionParams>("_backward_Convolution_bias").blocked_form(bias_gradient_form);
}

}  // namespace loomix::ops
