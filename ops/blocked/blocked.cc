// SPDX-License-Identifier: Apache-2.0
#include "ops/blocked/blocked.h"

#include "base/error.h"
#include "ops/families.h"
#include "ops/image_form.h"
#include "ops/shape/shape.h"
#include "ops/table.h"

namespace loomix::ops {

Shape blocked_shape(const Shape& image) {
  const int64_t block = channel_block();
  return {image[0], (image[1] + block - 1) / block, image[2], image[3], block};
}

bool is_image(const TensorView& view) {
  return view.shape.ndim() == 4 && is_blocked_type(view.dtype) && view.shape.size() > 0;
}

ImageForm blocked_images() {
  if (!has_blocked_convolution()) return {};
  // A whole array goes through memory twice; operators convert pieces of it, which stay in the cache.
  ImageForm form{.training_weight = 2, .prediction_weight = 0};
  form.types =
      is_blocked_type(DType::bfloat16) ? DTypeSet{DType::float32, DType::bfloat16} : DTypeSet{DType::float32};
  form.into = [](const Shape&) { return ImageForm::Conversion("_block_channels", make_attrs(NoParams())); };
  form.back = [](const Shape& image) {
    return ImageForm::Conversion("_unblock_channels", make_attrs(UnblockParams{image[1]}));
  };
  form.fits = fills_blocks;
  form.knows = [](const OpDef& op) { return op.blocked_form != nullptr; };
  form.of = [](const ImageForm&, const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec,
               BlockedInputs inputs) { return op.blocked_form(attrs, spec, inputs); };
  return form;
}

namespace {

using Input = BlockedForm::Input;

constexpr DTypeSet kBlockedTypes{DType::float32, DType::bfloat16};

Shape plain_shape(const Shape& blocked, int64_t channels) {
  return {blocked[0], channels, blocked[2], blocked[3]};
}

// Whether the shape of input 0 is known; it must be that of blocks.
bool has_blocks(ShapeInfer& s) {
  constexpr const char* kExpected = "(batch, blocks, height, width, channels of a block)";
  if (!s.has_axes(0, 5, kExpected) || !s.in(0).is_known()) return false;
  s.expect(0, s.in(0)[4] == channel_block(), kExpected);
  return true;
}

void infer_unblocked(const UnblockParams& p, ShapeInfer& s) {
  if (!has_blocks(s)) return;
  const int64_t least = (s.in(0)[1] - 1) * channel_block();
  LOOMIX_CHECK(p.channels > least && p.channels <= least + channel_block(), ShapeError,
               "[{}] the data have shape {}, which cannot hold {} channels.", s.who(), s.in(0).to_string(),
               p.channels);
  s.set_out(0, plain_shape(s.in(0), p.channels));
}

void infer_pooling(const BlockedPoolingParams& p, ShapeInfer& s) {
  if (!has_blocks(s)) return;
  const Shape& in = s.in(0);
  const Shape out = pooled(p, s, plain_shape(in, in[1] * in[4]));
  s.set_out(0, {in[0], in[1], out[2], out[3], in[4]});
}

void infer_norm(const BlockedNormParams&, ShapeInfer& s) {
  if (!has_blocks(s)) return;
  s.tie({0});
  const int64_t least = (s.in(0)[1] - 1) * channel_block();
  for (int i = 1; i < 5; ++i) {
    if (i > 1) s.set_in(i, s.in(1));
    if (s.has_axes(i, 1, "(channels,)") && s.in(i).is_known())
      s.expect(i, s.in(i)[0] > least && s.in(i)[0] <= least + channel_block(), "as many numbers as channels");
  }
}

template <class P>
std::optional<BlockedForm> pooling_form(const P& p, const KernelSpec& spec, BlockedInputs blocked_inputs) {
  const PoolingParams all = full(p);
  if (!blocked_inputs[0] || !is_image(spec.in[0]) || channels_last(all.layout)) return {};
  if (all.pool_type != PoolType::max && all.pool_type != PoolType::avg) return {};
  BlockedPoolingParams blocked;
  static_cast<PoolingParams&>(blocked) = all;
  if (spec.training && all.pool_type == PoolType::max) {
    if (has_wide_places(all)) return {};
    return BlockedForm{"_blocked_max_pooling", make_attrs(blocked), {Input::blocked}, nullptr, {true, true}};
  }
  return BlockedForm{"_blocked_pooling", make_attrs(blocked), {Input::blocked}};
}

std::optional<BlockedForm> norm_form(const BatchNormParams& p, const KernelSpec& spec,
                                     BlockedInputs blocked_inputs) {
  if (!blocked_inputs[0] || !is_image(spec.in[0]) || (p.axis != 1 && p.axis != -3)) return {};
  if (spec.training) {
    BlockedBatchNormParams training;
    static_cast<BatchNormParams&>(training) = p;
    BlockedForm form{"_blocked_batch_norm", make_attrs(training), {Input::blocked}};
    form.inputs.resize(5, Input::plain);
    form.outputs = {true, false, false};
    return form;
  }
  if (p.output_mean_var) return {};
  BlockedNormParams blocked;
  static_cast<BatchNormParams&>(blocked) = p;
  return BlockedForm{"_blocked_norm",
                     make_attrs(blocked),
                     {Input::blocked, Input::plain, Input::plain, Input::plain, Input::plain}};
}

std::optional<BlockedForm> concat_form(const ConcatParams& p, const KernelSpec& spec,
                                       BlockedInputs blocked_inputs) {
  if (!blocked_inputs.any() || (p.dim != 1 && p.dim != -3)) return {};
  for (size_t i = 0; i < spec.in.size(); ++i) {
    if (!is_image(spec.in[i]) || (i + 1 < spec.in.size() && !fills_blocks(spec.in[i].shape))) return {};
  }
  ConcatParams blocked = p;
  blocked.dim = 1;
  return BlockedForm{"Concat", make_attrs(blocked), std::vector<Input>(spec.in.size(), Input::blocked)};
}

}  // namespace

bool converts_layout(const OpDef& op) {
  return op.name == "_block_channels" || op.name == "_unblock_channels";
}

void register_blocked(OpTable& table) {
  table.add_hidden<NoParams>("_block_channels", {"data"})
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        if (s.has_axes(0, 4, "(batch, channels, height, width)") && s.in(0).is_known())
          s.set_out(0, blocked_shape(s.in(0)));
      })
      .types(kBlockedTypes);
  table.add_hidden<UnblockParams>("_unblock_channels", {"data"})
      .infer_shape(infer_unblocked)
      .types(kBlockedTypes);
  table.add_hidden<BlockedPoolingParams>("_blocked_pooling", {"data"})
      .infer_shape(infer_pooling)
      .types(kBlockedTypes)
      .element_cost(1);
  table.add_hidden<BlockedNormParams>("_blocked_norm", {"data", "gamma", "beta", "mean", "var"})
      .infer_shape(infer_norm)
      .infer_type([](const BlockedNormParams&, TypeInfer& t) {
        t.tie({0});
        for (int i = 1; i < 5; ++i) t.set_in(i, DType::float32);
      })
      .types(kBlockedTypes)
      .input_types(1, {DType::float32})
      .input_types(2, {DType::float32})
      .input_types(3, {DType::float32})
      .input_types(4, {DType::float32})
      .inplace(0, 0)
      .closing([](const BlockedNormParams& p, Closing closing) -> Ref<const AttrsBase> {
        return closing ? clamped(p, *closing) : Ref<const AttrsBase>();
      });
  table.refine<PoolingParams>("Pooling").blocked_form(pooling_form<PoolingParams>);
  table.refine<BatchNormParams>("BatchNorm").blocked_form(norm_form);
  table.refine<ConcatParams>("Concat").blocked_form(concat_form);
}

}  // namespace loomix::ops
