// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/conv/conv_gemm_kernels.h"
#include "ops/conv/conv_phases.h"
#include "ops/isa.h"
#include "ops/limits.h"
#include "ops/scratch_slots.h"

namespace loomix::ops {
namespace {

constexpr int64_t kWeightParts = 8;  // partial sums of the weight's gradient, whatever the number of threads
constexpr int64_t kFewestParts = 8;  // of the data's gradient: fewer images are cut by their channels

const ConvGemmKernels& kernels() { return best_loops<ConvGemmKernels>(); }

bool packs_weight(const ConvGeometry& g) { return g.batch * g.out_size() >= work_limits().packed_pixels; }

}  // namespace

Support convolution_gemm_support(const ConvolutionParams& p, const KernelSpec& spec) {
  if (const Support may = may_run(ConvAlgorithm::gemm, p); !may) return may;
  if (spec.in[0].dtype != DType::float32) return Support::no("it is for float32");
  if (channels_last(p.layout)) return Support::no("it is for channels first");
  return Support::yes();
}

PreparedConvGemm::PreparedConvGemm(const ConvGeometry& g, int64_t shared, int64_t own, int64_t units,
                                   int cores)
    : geometry(g),
      shared_(shared),
      own_(own),
      slots_(slots_for(static_cast<int>(std::min<int64_t>(cores, units)))) {
  scratch_bytes = static_cast<size_t>(shared_ + slots_ * own_) * sizeof(float);
}

float* PreparedConvGemm::shared(const KernelArgs& args) const {
  return reinterpret_cast<float*>(args.scratch.data());
}

ScratchSlots PreparedConvGemm::slots(const KernelArgs& args) const {
  return ScratchSlots(args.scratch.subspan(static_cast<size_t>(shared_) * sizeof(float)),
                      static_cast<size_t>(own_) * sizeof(float), slots_);
}

ConvGemm::ConvGemm(const ConvGeometry& g, bool, int cores)
    : PreparedConvGemm(g, packs_weight(g) ? whole_lines(g.groups * g.filters * g.depth()) : 0,
                       whole_lines(padded_image_size(g) + kSurplus + g.depth() * kernels().width + kSurplus),
                       g.batch * g.groups * panels(g), cores) {}

int64_t ConvGemm::panels(const ConvGeometry& g) {
  return (g.out_size() + kernels().width - 1) / kernels().width;
}

void ConvGemm::run(const ConvOperands& operands, const KernelArgs& args) const {
  const ConvGeometry& g = geometry;
  const ConvGemmKernels& k = kernels();
  const float* data = operands.a.as<float>();
  const float* weight = operands.b.as<float>();
  const float* bias = operands.bias ? operands.bias->as<float>() : nullptr;
  float* out = args.out[0].mutable_as<float>();
  const int64_t weights = g.filters * g.depth();
  const bool is_packed = packs_weight(g);
  for (int64_t group = 0; is_packed && group < g.groups; ++group) {
    k.pack_rows(g.filters, g.depth(), weight + group * weights, g.depth(), 1, shared(args) + group * weights);
  }
  if (is_packed) weight = shared(args);
  const int64_t panels = ConvGemm::panels(g);
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
      k.forward(g, image, weight + group * weights, is_packed, bias ? bias + group * g.filters : nullptr,
                unit % panels * k.width, unfolded, out + item * g.filters * g.out_size());
    }
  });
}

ConvGeometry ConvDataGemm::part_of(const ConvGeometry& g) {
  ConvGeometry part = g;
  int64_t parts = std::min((kFewestParts + g.batch * g.groups - 1) / std::max<int64_t>(1, g.batch * g.groups),
                           std::max<int64_t>(1, g.channels));
  while (g.channels % parts != 0) --parts;
  part.channels = g.channels / parts;
  return part;
}

ConvDataGemm::ConvDataGemm(const ConvGeometry& g, bool, int cores)
    : PreparedConvGemm(g,
                       whole_lines(g.groups * g.filters * g.depth()) +
                           (has_phases(g) ? whole_lines(g.filters * DataPhases(g).plane + kSurplus) : 0),
                       has_phases(g) ? 0
                                     : whole_lines((g.filters + kernels().rows) * kernels().width +
                                                   padded_image_size(part_of(g)) + kSurplus),
                       g.batch * g.groups * (g.channels / std::max<int64_t>(1, part_of(g).channels)), cores),
      by_phases_(has_phases(g)),
      parts_(g.channels / std::max<int64_t>(1, part_of(g).channels)) {}

// The unit of work is some channels of a group of an image.
void ConvDataGemm::run(const ConvOperands& operands, const KernelArgs& args) const {
  if (by_phases_) return run_phases(geometry, operands, shared(args), args);
  const ConvGeometry& g = geometry;
  const ConvGeometry part = part_of(g);
  const ConvGemmKernels& k = kernels();
  const float* grad = operands.a.as<float>();
  const float* weight = operands.b.as<float>();
  const float* bias = operands.bias ? operands.bias->as<float>() : nullptr;
  float* out = args.out[0].mutable_as<float>();
  const int64_t weights = g.filters * part.depth();
  float* packed = shared(args);
  const int64_t grain = 2048 / std::max<int64_t>(1, weights);
  engine::parallel_for(*args.context, g.groups * parts_, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {  // the weight's columns are the rows here
      k.pack_rows(part.depth(), g.filters,
                  weight + i / parts_ * g.filters * g.depth() + i % parts_ * part.depth(), 1, g.depth(),
                  packed + i * weights);
    }
  });
  ScratchSlots slots = this->slots(args);
  engine::parallel_for(*args.context, g.batch * g.groups * parts_, 1, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use own(slots);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % (g.groups * parts_);
      float* const to = out + item * part.channels * g.in_size();
      k.to_data(part, grad + item / parts_ * g.filters * g.out_size(), packed + first * weights,
                own.as<float>(), to);
      if (bias) add_bias(bias + first * part.channels, part.channels, g.in_size(), to);
    }
  });
}

void add_bias(const float* bias, int64_t planes, int64_t size, float* image) {
  for (int64_t plane = 0; plane < planes; ++plane, image += size) {
    const float more = bias[plane];
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) image[i] += more;
  }
}

ConvWeightGemm::ConvWeightGemm(const ConvGeometry& g, bool, int cores)
    : PreparedConvGemm(g, whole_lines(parts(g) * g.groups * g.filters * padded_depth(g, kernels().lanes)),
                       whole_lines(padded_image_size(g) + kSurplus +
                                   at_once(g) * padded_depth(g, kernels().lanes) + kSurplus),
                       parts(g), cores) {}

int64_t ConvWeightGemm::parts(const ConvGeometry& g) { return std::clamp<int64_t>(g.batch, 1, kWeightParts); }

int64_t ConvWeightGemm::at_once(const ConvGeometry& g) {
  return std::clamp<int64_t>(work_limits().unfolded_floats / padded_depth(g, kernels().lanes), 8,
                             std::max<int64_t>(g.out_size(), 8));
}

// The batch is cut into a fixed number of parts, whose sums are added in order: the result does not depend on threads.
void ConvWeightGemm::run(const ConvOperands& operands, const KernelArgs& args) const {
  const ConvGeometry& g = geometry;
  const ConvGemmKernels& k = kernels();
  const float* grad = operands.a.as<float>();
  const float* data = operands.b.as<float>();
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
  engine::parallel_each(*args.context, g.groups * g.filters, 8, [&](int64_t row) {
    float* to = out + row * g.depth();
    for (int64_t part = 0; part < parts; ++part) {
      const float* from = sums + part * part_size + row * padded;
      if (part == 0 && !add) std::copy_n(from, g.depth(), to);
      else
        for (int64_t i = 0; i < g.depth(); ++i) to[i] += from[i];
    }
  });
}

}  // namespace loomix::ops
