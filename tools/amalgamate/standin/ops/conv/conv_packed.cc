// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/conv_packed.h"

#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/isa.h"

namespace loomix::ops {
namespace {

const ConvPackedKernels& conv_kernels() { return best_loops<ConvPackedKernels>(); }

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

ConvPacked::ConvPacked(const ConvolutionParams& p, const KernelSpec& spec)
    : geometry_(geometry_of(p, ConvPass::forward, spec.in, spec.out)),
      padded_(geometry_.kernel_size() != 1 || geometry_.pad[0] + geometry_.pad[1] + geometry_.pad[2] != 0),
      slots_(slots_for(spec.cores)) {
  const ConvGeometry& g = geometry_;
  const ConvPackedKernels& k = conv_kernels();
  panels_ = divide_up(std::max<int64_t>(g.out_size(), 1), k.width);
  // Filters are cut where there are too few panels for the threads, at full tiles.
  constexpr int64_t kUnitsPerCore = 3, kMostFilters = 64 * 6;
  const int64_t units = std::max<int64_t>(1, g.batch * g.groups * panels_);
  const int64_t wanted = std::max(divide_up(spec.cores == 1 ? 1 : spec.cores * kUnitsPerCore, units),
                                  divide_up(g.filters, kMostFilters));
  chunk_ = divide_up(divide_up(g.filters, wanted), k.rows) * k.rows;
  chunks_ = divide_up(g.filters, chunk_);
  packed_bytes_ = aligned(static_cast<size_t>(g.groups * g.filters * g.depth()) * sizeof(float));
  image_bytes_ =
      padded_ ? aligned(static_cast<size_t>(padded_floats() * g.batch * g.groups + 16) * sizeof(float)) : 0;
  slot_bytes_ =
      aligned(static_cast<size_t>((std::min(kConvDepth, g.depth()) + chunk_) * k.width + 64) * sizeof(float));
  scratch_bytes = packed_bytes_ + image_bytes_ + slot_bytes_ * static_cast<size_t>(slots_);
}

int64_t ConvPacked::padded_floats() const {
  const ConvGeometry& g = geometry_;
  return g.channels * (g.in[0] + 2 * g.pad[0]) * (g.in[1] + 2 * g.pad[1]) * (g.in[2] + 2 * g.pad[2]);
}

// Piece of the depth by piece, each with its filters in blocks of a tile's rows.
void ConvPacked::pack_to(const float* weight, float* to) const {
  const ConvGeometry& g = geometry_;
  for (int64_t group = 0; group < g.groups; ++group, weight += g.filters * g.depth()) {
    for (int64_t first = 0; first < g.depth(); first += kConvDepth) {
      const int64_t depth = std::min(kConvDepth, g.depth() - first);
      conv_kernels().pack_rows(g.filters, depth, weight + first, g.depth(), to);
      to += g.filters * depth;
    }
  }
}

PackedWeight::Packed ConvPacked::packed_form(const TensorView& weight) const {
  auto packed = std::make_shared<std::vector<float>>(static_cast<size_t>(weight.size()));
  pack_to(weight.as<float>(), packed->data());
  return packed;
}

void ConvPacked::use(Packed packed) {
  packed_ = std::move(packed);
  scratch_bytes -= packed_bytes_;
  packed_bytes_ = 0;
}

void ConvPacked::run(const ConvolutionParams& p, const KernelArgs& args) const {
  const ConvGeometry& g = geometry_;
  const ConvPackedKernels& k = conv_kernels();
  std::byte* const memory = args.scratch.data();
  const float* packed = packed_ ? packed_->data() : nullptr;
  if (!packed_) {
    pack_to(args.in[1].as<float>(), reinterpret_cast<float*>(memory));
    packed = reinterpret_cast<float*>(memory);
  }
  const float* const bias = p.no_bias ? nullptr : args.in[2].as<float>();
  const float* data = args.in[0].as<float>();
  const int64_t items = g.batch * g.groups;
  int64_t item_size = g.channels * g.in_size();
  if (padded_) {
    float* const images = reinterpret_cast<float*>(memory + packed_bytes_);
    const int64_t plane = padded_floats() / std::max<int64_t>(1, g.channels);
    engine::parallel_each(*args.context, items * g.channels, 65536 / std::max<int64_t>(1, plane),
                          [&](int64_t channel) { k.pad(g, data, channel, images); });
    data = images;
    item_size = padded_floats();
  }
  float* const out = args.out[0].mutable_as<float>();
  ScratchSlots slots(args.scratch.subspan(packed_bytes_ + image_bytes_), slot_bytes_, slots_);
  engine::parallel_for(*args.context, items * chunks_ * panels_, 1, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use own(slots);
    float* const panel = own.as<float>();
    float* const sums = panel + std::min(kConvDepth, g.depth()) * k.width + 32;
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t item = unit / (chunks_ * panels_), chunk = unit / panels_ % chunks_,
                    group = item % g.groups;
      ConvClosing closing = closing_;
      if (closing.add) closing.other = args.in.back().as<float>() + item * g.filters * g.out_size();
      k.panel(g, data + item * item_size, padded_, packed + group * g.filters * g.depth(),
              bias ? bias + group * g.filters : nullptr, unit % panels_ * k.width, chunk * chunk_,
              std::min(g.filters, (chunk + 1) * chunk_), panel, sums, out + item * g.filters * g.out_size(),
              closing);
    }
  });
}

}  // namespace loomix::ops
