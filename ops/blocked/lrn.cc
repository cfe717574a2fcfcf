// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/blocked/blocked.h"
#include "ops/families.h"
#include "ops/norm/l2_norm.h"
#include "ops/table.h"

// LRN of images in blocks of channels, and its gradient.
namespace loomix::ops {
namespace {

using Input = BlockedForm::Input;

constexpr DTypeSet kBlockedTypes{DType::float32, DType::bfloat16};
constexpr const char* kBlocks = "(batch, blocks, height, width, channels of a block)";

// The kernel keeps a pixel's channels on the stack, and a window reaches no further than the blocks beside its own.
constexpr int64_t kMostChannels = 2048;
bool is_small(const LRNParams& p, int64_t channels) {
  return p.nsize / 2 <= channel_block() && channels <= kMostChannels;
}

// Where a block is not full, zeros stay zeros if no denominator is zero.
bool keeps_zeros(const LRNParams& p, const Shape& image) {
  return fills_blocks(image) || (p.knorm > 0 && p.alpha >= 0);
}

bool runs_in_blocks(const LRNParams& p, const TensorView& data) {
  return is_image(data) && is_small(p, data.shape[1]) && keeps_zeros(p, data.shape);
}

std::optional<BlockedForm> lrn_form(const LRNParams& p, const KernelSpec& spec, BlockedInputs blocked) {
  if (!blocked[0] || !runs_in_blocks(p, spec.in[0])) return {};
  return BlockedForm{"_blocked_LRN", make_attrs(p), {Input::blocked}};
}

// grad, data
std::optional<BlockedForm> lrn_gradient_form(const LRNParams& p, const KernelSpec& spec,
                                             BlockedInputs blocked) {
  if (!blocked[1] || !runs_in_blocks(p, spec.in[1])) return {};
  return BlockedForm{"_backward_blocked_LRN", make_attrs(p), {Input::blocked, Input::blocked}};
}

void infer_lrn(const LRNParams& p, ShapeInfer& s, int data) {
  LOOMIX_CHECK(p.nsize % 2 == 1, ValueError, "[{}] nsize is {}; expected an odd number.", s.who(), p.nsize);
  if (!s.has_axes(data, 5, kBlocks) || !s.in(data).is_known()) return;
  s.expect(data, s.in(data)[4] == channel_block(), kBlocks);
  const int64_t channels = s.in(data)[1] * channel_block();
  LOOMIX_CHECK(is_small(p, channels), ValueError,
               "[{}] nsize is {} and there are {} channels; expected at most {} and {}.", s.who(), p.nsize,
               channels, 2 * channel_block() + 1, kMostChannels);
}

}  // namespace

void register_blocked_lrn(OpTable& table) {
  table.add_hidden<LRNParams>("_blocked_LRN", {"data"})
      .infer_shape([](const LRNParams& p, ShapeInfer& s) {
        s.tie({0});
        infer_lrn(p, s, 0);
      })
      .types(kBlockedTypes)
      .inplace(0, 0)
      .element_cost(1.2);
  table.refine<LRNParams>("LRN").blocked_form(lrn_form);
}

void register_blocked_lrn_gradient(OpTable& table) {
  table.add_hidden<LRNParams>("_backward_blocked_LRN", {"grad", "data"})
      .infer_shape([](const LRNParams& p, ShapeInfer& s) {
        s.tie({0, 1});
        infer_lrn(p, s, 1);
      })
      .types(kBlockedTypes)
      .inplace(0, 0)
      .inplace(1, 0)
      .element_cost(1.6);
  table.refine<LRNParams>("_backward_LRN").blocked_form(lrn_gradient_form);
}

}  // namespace loomix::ops
