// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/conv/conv_gemm_kernels.h"
#include "ops/isa.h"
#include "ops/scratch_slots.h"

namespace loomix::ops {
namespace {

constexpr int64_t kUnfoldedFloats = 65536;  // a quarter of a megabyte: stays in the second cache
constexpr int64_t kWeightParts = 8;  // partial sums of the weight's gradient, whatever the number of threads

const ConvGemmKernels& kernels() {
  if constexpr (LOOMIX_ISA_LEVELS > 1) {
    static const ConvGemmKernels& chosen =
        pick_isa(isa_base::conv_gemm_kernels, isa_v3::conv_gemm_kernels, isa_v4::conv_gemm_kernels);
    return chosen;
  }
  return isa_base::conv_gemm_kernels();
}

int64_t lines(int64_t floats) { return (floats + 15) / 16 * 16; }  // whole cache lines

}  // namespace

Support convolution_gemm_support(const ConvolutionParams& p, const KernelSpec& spec) {
  if (spec.in[0].dtype != DType::float32) return Support::no("it is for float32");
  if (p.layout && channels_last(*p.layout)) return Support::no("it is for channels first");
  return Support::yes();
}

PreparedConvGemm::PreparedConvGemm(const ConvGeometry& g, int64_t shared, int64_t own, int cores)
    : geometry(g), shared_(shared), own_(own), slots_(std::clamp(cores, 1, ScratchSlots::kMost)) {
  scratch_bytes = static_cast<size_t>(shared_ + slots_ * own_) * sizeof(float);
}

float* PreparedConvGemm::shared(const KernelArgs& args) const {
  return reinterpret_cast<float*>(args.scratch.data());
}

ScratchSlots PreparedConvGemm::slots(const KernelArgs& args) const {
  return ScratchSlots(args.scratch.subspan(static_cast<size_t>(shared_) * sizeof(float)),
                      static_cast<size_t>(own_) * sizeof(float), slots_);
}

ConvGemm::ConvGemm(const ConvolutionParams& p, const KernelSpec& spec)
    : ConvGemm(ConvGeometry(p, spec.in[0].shape), spec.cores) {}

ConvGemm::ConvGemm(const ConvGeometry& g, int cores)
    : PreparedConvGemm(g, lines(g.groups * g.filters * g.depth()),
                       lines(padded_image_size(g) + kSurplus + g.depth() * kernels().width + kSurplus),
                       cores) {}

void ConvGemm::run(const ConvolutionParams& p, const KernelArgs& args) const {
  if (args.req[0] == Req::null || args.out[0].size() == 0) return;
  const ConvGeometry& g = geometry;
  const ConvGemmKernels& k = kernels();
  const float* data = args.in[0].as<float>();
  const float* weight = args.in[1].as<float>();
  const float* bias = p.no_bias ? nullptr : args.in[2].as<float>();
  float* out = args.out[0].mutable_as<float>();
  const int64_t weights = g.filters * g.depth();
  float* packed = shared(args);
  for (int64_t group = 0; group < g.groups; ++group) {
    k.pack_rows(g.filters, g.depth(), weight + group * weights, g.depth(), 1, packed + group * weights);
  }
  const int64_t panels = (g.out_size() + k.width - 1) / k.width;
  ScratchSlots slots = this->slots(args);
  engine::parallel_for(*args.context, g.batch * g.groups * panels, 4, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use own(slots);
    float* image = own.as<float>();
    float* const unfolded = image + padded_image_size(g) + kSurplus;
    int64_t padded_item = -1;
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t item = unit / panels;  // image and group
      if (item != padded_item) k.pad(g, data + item * g.channels * g.in_size(), image);
      padded_item = item;
      const int64_t group = item % g.groups;
      k.forward(g, image, packed + group * weights, bias ? bias + group * g.filters : nullptr,
                unit % panels * k.width, unfolded, out + item * g.filters * g.out_size());
    }
  });
}

ConvDataGemm::ConvDataGemm(const ConvolutionParams& p, const KernelSpec& spec)
    : ConvDataGemm(ConvGeometry(p, spec.out[0].shape), spec.cores) {}

ConvDataGemm::ConvDataGemm(const ConvGeometry& g, int cores)
    : PreparedConvGemm(
          g, lines(g.groups * g.filters * g.depth()),
          lines((g.filters + kernels().rows) * kernels().width + padded_image_size(g) + kSurplus), cores) {}

void ConvDataGemm::run(const ConvolutionParams&, const KernelArgs& args) const {
  if (args.req[0] == Req::null || args.out[0].size() == 0) return;
  const ConvGeometry& g = geometry;
  const ConvGemmKernels& k = kernels();
  const float* grad = args.in[0].as<float>();
  const float* weight = args.in[1].as<float>();
  float* out = args.out[0].mutable_as<float>();
  const int64_t weights = g.filters * g.depth();
  float* packed = shared(args);
  for (int64_t group = 0; group < g.groups; ++group) {  // the weight's columns are the rows here
    k.pack_rows(g.depth(), g.filters, weight + group * weights, 1, g.depth(), packed + group * weights);
  }
  ScratchSlots slots = this->slots(args);
  engine::parallel_for(*args.context, g.batch * g.groups, 1, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use own(slots);
    for (int64_t item = begin; item < end; ++item) {
      k.to_data(g, grad + item * g.filters * g.out_size(), packed + item % g.groups * weights,
                own.as<float>(), out + item * g.channels * g.in_size());
    }
  });
}

ConvWeightGemm::ConvWeightGemm(const ConvolutionParams& p, const KernelSpec& spec)
    : ConvWeightGemm(ConvGeometry(p, spec.in[1].shape), spec.cores) {}

ConvWeightGemm::ConvWeightGemm(const ConvGeometry& g, int cores)
    : PreparedConvGemm(
          g, lines(parts(g) * g.groups * g.filters * padded_depth(g, kernels().lanes)),
          lines(padded_image_size(g) + kSurplus + at_once(g) * padded_depth(g, kernels().lanes) + kSurplus),
          cores) {}

int64_t ConvWeightGemm::parts(const ConvGeometry& g) { return std::clamp<int64_t>(g.batch, 1, kWeightParts); }

int64_t ConvWeightGemm::at_once(const ConvGeometry& g) {
  return std::clamp<int64_t>(kUnfoldedFloats / padded_depth(g, kernels().lanes), 8,
                             std::max<int64_t>(g.out_size(), 8));
}

// The batch is cut into a fixed number of parts, whose sums are added in order: the result does not depend on threads.
void ConvWeightGemm::run(const ConvolutionParams&, const KernelArgs& args) const {
  if (args.req[0] == Req::null || args.out[0].size() == 0) return;
  const ConvGeometry& g = geometry;
  const ConvGemmKernels& k = kernels();
  const float* grad = args.in[0].as<float>();
  const float* data = args.in[1].as<float>();
  float* out = args.out[0].mutable_as<float>();
  const int64_t padded = padded_depth(g, k.lanes);
  const int64_t part_size = g.groups * g.filters * padded;
  const int64_t parts = ConvWeightGemm::parts(g);
  const int64_t at_once = ConvWeightGemm::at_once(g);
  float* sums = shared(args);
  ScratchSlots slots = this->slots(args);
  engine::parallel_for(*args.context, parts, 1, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use own(slots);
    float* const padded_image = own.as<float>();
    float* const unfolded = padded_image + padded_image_size(g) + kSurplus;
    for (int64_t part = begin; part < end; ++part) {
      float* to = sums + part * part_size;
      std::fill_n(to, part_size, 0.0f);
      for (int64_t image = g.batch * part / parts; image < g.batch * (part + 1) / parts; ++image) {
        for (int64_t group = 0; group < g.groups; ++group) {
          const int64_t item = image * g.groups + group;
          k.pad(g, data + item * g.channels * g.in_size(), padded_image);
          k.to_weight(g, grad + item * g.filters * g.out_size(), padded_image, at_once, unfolded,
                      to + group * g.filters * padded);
        }
      }
    }
  });
  const bool add = args.req[0] == Req::add;
  engine::parallel_for(*args.context, g.groups * g.filters, 8, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* to = out + row * g.depth();
      for (int64_t part = 0; part < parts; ++part) {
        const float* from = sums + part * part_size + row * padded;
        if (part == 0 && !add) std::copy_n(from, g.depth(), to);
        else
          for (int64_t i = 0; i < g.depth(); ++i) to[i] += from[i];
      }
    }
  });
}

}  // namespace loomix::ops
