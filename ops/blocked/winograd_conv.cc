// SPDX-License-Identifier: Apache-2.0
#include "ops/blocked/winograd_conv.h"

#include <algorithm>
#include <limits>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = BlockedConvParams;

Support accepts(const Params& p, const KernelSpec&) {
  if (!p.winograd || !has_winograd_conv()) return Support::no("it is for Winograd's method with AVX2");
  return Support::yes();
}

// Tiles at a time: the more, the less often the weight is read; the fewer, the nearer to the core they stay.
int64_t tiles_at_once(const WinogradConv& c) { return c.channels <= 128 ? 12 : c.channels <= 192 ? 24 : 48; }

// The convolution, or the gradient of its data.
class BlockedWinograd final : public KernelState {
 public:
  BlockedWinograd(const Params& p, const KernelSpec& spec) : c_(p), at_once_(tiles_at_once(c_)) {
    constexpr int64_t kFewestTiles = 12;
    const int64_t wanted = spec.cores > 1 ? 2 * spec.cores : 1;
    const auto blocks = [&] { return (c_.tiles() + at_once_ - 1) / at_once_; };
    while (blocks() * parts_ < wanted && c_.filters / (parts_ + 1) >= WinogradConv::kFiltersAtOnce) ++parts_;
    while (blocks() * parts_ < wanted && at_once_ / 2 >= kFewestTiles) at_once_ /= 2;
    blocks_ = blocks();
    slots_ = static_cast<int>(std::min<int64_t>(std::min(spec.cores, ScratchSlots::kMost), blocks_ * parts_));
    slot_bytes_ = aligned(static_cast<size_t>(c_.scratch(at_once_)) * sizeof(float));
    scratch_bytes = static_cast<size_t>(slots_) * slot_bytes_;
  }

  void run(const Params& p, const KernelArgs& args) const {
    const bool is_biased = p.pass == ConvPass::forward && !p.no_bias;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const WinogradConvArrays arrays{args.in[0].as<float>(),
                                    args.in[1].as<float>(),
                                    is_biased ? args.in[2].as<float>() : nullptr,
                                    p.add ? args.in[is_biased ? 3 : 2].as<float>() : nullptr,
                                    args.out[0].mutable_as<float>(),
                                    static_cast<float>(p.low.value_or(-kInfinity)),
                                    static_cast<float>(p.high.value_or(kInfinity))};
    const WinogradConvLoops& loops = best_loops<WinogradConvLoops>();
    ScratchSlots slots(args.scratch, slot_bytes_, slots_);
    const int64_t panels = c_.filters / WinogradForm::kBlock;
    engine::parallel_each(*args.context, blocks_ * parts_, 1, [&](int64_t i) {
      const ScratchSlots::Use slot(slots);
      const int64_t block = i / parts_, part = i % parts_;
      loops.run(c_, arrays, block * at_once_, std::min((block + 1) * at_once_, c_.tiles()),
                panels * part / parts_ * WinogradForm::kBlock,
                panels * (part + 1) / parts_ * WinogradForm::kBlock, at_once_, slot.as<float>());
    });
  }

 private:
  const WinogradConv c_;
  int64_t at_once_, blocks_ = 0, parts_ = 1;  // parts of the filters
  int slots_ = 1;
  size_t slot_bytes_ = 0;
};

// grad, data -> gradient of the weight. Scratch memory: tiles of data and gradient, and the sums.
class WinogradWeightGradient final : public KernelState {
 public:
  WinogradWeightGradient(const Params& p, const KernelSpec&) : c_(p) {
    constexpr int64_t kFloats = 1 << 21;
    const int64_t per_tile = WinogradConv::kValues * (c_.row() + c_.filters);
    at_once_ = std::min(std::clamp<int64_t>(kFloats / per_tile, 24, 192), c_.tiles());
    scratch_bytes =
        static_cast<size_t>(at_once_ * per_tile + WinogradConv::kValues * c_.channels * c_.filters) *
        sizeof(float);
  }

  void run(const Params&, const KernelArgs& args) const {
    const WinogradGradientLoops& loops = best_loops<WinogradGradientLoops>();
    const float *const grad = args.in[0].as<float>(), *const data = args.in[1].as<float>();
    float* const data_tiles = reinterpret_cast<float*>(args.scratch.data());
    float* const grad_tiles = data_tiles + WinogradConv::kValues * at_once_ * c_.row();
    float* const sums = grad_tiles + WinogradConv::kValues * at_once_ * c_.filters;
    const int64_t panels = c_.filters / WinogradForm::kBlock;
    for (int64_t first = 0; first < c_.tiles(); first += at_once_) {
      const int64_t tiles = std::min(at_once_, c_.tiles() - first);
      engine::parallel_each(*args.context, tiles, 1, [&](int64_t i) {
        loops.transform(c_, data, grad, first + i, i, at_once_, data_tiles, grad_tiles);
      });
      engine::parallel_each(*args.context, WinogradConv::kValues * panels, 1, [&](int64_t i) {
        loops.add_up(c_, i / panels, i % panels, tiles, at_once_, data_tiles, grad_tiles, sums, first > 0);
      });
    }
    engine::parallel_each(*args.context, panels, 1, [&](int64_t panel) {
      loops.finish(c_, panel, sums, args.out[0].mutable_as<float>());
    });
  }

 private:
  const WinogradConv c_;
  int64_t at_once_;
};

// Between the weight as it is given and as tiles.
template <bool kBack>
class ChangedWeight final : public KernelState {
 public:
  ChangedWeight(const Params& p, const KernelSpec&) : form_(WinogradConv(p).weight_form()) {}
  void run(const Params&, const KernelArgs& args) const {
    const auto change = kBack ? best_loops<WinogradLoops>().restore : best_loops<WinogradLoops>().transform;
    engine::parallel_each(*args.context, form_.parts(), 1, [&](int64_t part) {
      change(form_, part, args.in[0].as<float>(), args.out[0].mutable_as<float>());
    });
  }

 private:
  const WinogradForm form_;
};

}  // namespace

bool has_winograd_conv() { return channel_block() == WinogradConv::kBlock && machine_isa() != Isa::base; }

bool winograd_conv_pays(const ConvGeometry& g, bool training) {
  constexpr int64_t kFewestTiles = 12, kFewestInTraining = 24;
  if (g.groups > 1 || g.channels % WinogradForm::kBlock != 0 || g.filters % WinogradForm::kBlock != 0)
    return false;
  for (int i = 1; i < 3; ++i) {
    if (g.kernel[i] != 3 || g.stride[i] != 1 || g.dilate[i] != 1 || g.pad[i] > 1) return false;
  }
  const auto tiles = [](int64_t size) { return (size + WinogradConv::kOut - 1) / WinogradConv::kOut; };
  return g.batch * tiles(g.out[1]) * tiles(g.out[2]) >= (training ? kFewestInTraining : kFewestTiles);
}

bool winograd_gradient_pays(const ConvGeometry& g) {
  constexpr int64_t kMostWeights = 1 << 18;  // whose sums take nine times as much
  return winograd_conv_pays(g, true) && g.channels * g.filters <= kMostWeights;
}

int64_t winograd_conv_weight_size(const ConvGeometry& g) {
  return WinogradConv::kValues * g.channels * g.filters;
}

WinogradConv::WinogradConv(const Params& p) {
  const ConvGeometry g(p, p.image);
  const bool is_gradient = p.pass == ConvPass::data;
  batch = g.batch;
  channels = is_gradient ? g.filters : g.channels;
  filters = is_gradient ? g.channels : g.filters;
  for (int axis = 0; axis < 2; ++axis) {
    in[axis] = is_gradient ? g.out[axis + 1] : g.in[axis + 1];
    out[axis] = is_gradient ? g.in[axis + 1] : g.out[axis + 1];
    pad[axis] = is_gradient ? 2 - g.pad[axis + 1] : g.pad[axis + 1];
  }
  turned = is_gradient;
}

WinogradForm WinogradConv::weight_form() const {
  constexpr int64_t kPlaces = 9;
  WinogradForm form;
  form.tile = kTile;
  form.filters = filters;
  form.channels = channels;
  form.filter_step = turned ? kPlaces : channels * kPlaces;
  form.channel_step = turned ? filters * kPlaces : kPlaces;
  form.turned = turned;
  form.value = channels * filters;
  form.outer = channels * WinogradForm::kBlock;
  form.channel = WinogradForm::kBlock;
  form.far = WinogradForm::kBlock * WinogradForm::kBlock;
  return form;
}

void add_winograd_conv_kernels(OpTable& table) {
  table.prepared_kernel<Params, ChangedWeight<false>, accepts>("_blocked_conv_weight",
                                                               "blocked_weight_winograd");
  table.prepared_kernel<Params, ChangedWeight<true>, accepts>("_plain_conv_weight", "plain_weight_winograd");
  table.prepared_kernel<Params, BlockedWinograd, accepts>("_blocked_convolution", "blocked_winograd");
}

void add_winograd_gradient_kernels(OpTable& table) {
  table.prepared_kernel<Params, ChangedWeight<false>, accepts>("_blocked_training_weight",
                                                               "blocked_training_weight_winograd");
  table.prepared_kernel<Params, BlockedWinograd, accepts>("_backward_blocked_conv_data",
                                                          "blocked_winograd_data");
  table.prepared_kernel<Params, WinogradWeightGradient, accepts>("_backward_blocked_conv_weight",
                                                                 "blocked_winograd_weight");
}

}  // namespace loomix::ops
