// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/pool/pooling.h"
#include "ops/pool/pooling_kernels.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 16384;

const PoolKernels& kernels() { return best_loops<PoolKernels>(); }

int64_t grain(const PoolGeometry& g) {
  return std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, g.in_size()));
}

// 2x2 windows with stride 2 that lie within a plane.
bool is_max2(const PoolGeometry& g) {
  const auto fits = [&](int i) {
    return g.kernel[i] == 2 && g.stride[i] == 2 && g.pad[i] == 0 && 2 * g.out[i] <= g.in[i];
  };
  return g.in[0] == 1 && g.kernel[0] == 1 && g.out[0] == 1 && fits(1) && fits(2);
}

// Maxima, and their places where they are asked for; float32, channels first.
class PoolingMax final : public KernelState {
 public:
  PoolingMax(const PoolingParams& p, const KernelSpec& spec) : g_(p, spec.in[0].shape) {
    std::vector<int64_t> held(static_cast<size_t>(slots(g_)), -1);
    for (int64_t d = 0; d < g_.out[0]; ++d) {
      for (int64_t h = 0; h < g_.out[1]; ++h) add_row(d, h, held);
    }
    plan_ = {.lines = lines_.data(),
             .rows = rows_.data(),
             .num_rows = static_cast<int64_t>(rows_.size()),
             .columns = g_.in[2],
             .windows = g_.out[2],
             .inside = std::min(g_.out[2], (g_.in[2] + g_.pad[2] - 1) / g_.stride[2] + 1),
             .slot = rounded(g_.out[2]),
             .kernel = g_.kernel[2],
             .stride = g_.stride[2],
             .pad = g_.pad[2],
             .copies = g_.pad[2] > 0 || read(g_) > g_.in[2]};
  }

  static bool fits(const PoolGeometry& g) {
    return slots(g) <= kMostMaxLines && slots(g) * rounded(g.out[2]) <= kMostResults &&
           line_floats(g) <= kMostColumns;
  }

  void run(const PoolingParams&, const KernelArgs& args) const {
    if (args.req[0] == Req::null) return;
    const float* const data = args.in[0].as<float>();
    float* const out = args.out[0].mutable_as<float>();
    BytePlace* const places = args.saved[0].data ? args.saved[0].mutable_as<BytePlace>() : nullptr;
    const auto at = [&](int64_t plane) { return places ? places + plane * g_.out_size() : nullptr; };
    if (is_max2(g_)) {
      return engine::parallel_each(*args.context, g_.batch * g_.channels, grain(g_), [&](int64_t plane) {
        kernels().max2(g_.out[1], g_.out[2], g_.in[2], data + plane * g_.in_size(),
                       out + plane * g_.out_size(), at(plane));
      });
    }
    engine::parallel_for(*args.context, g_.batch * g_.channels, grain(g_), [&](int64_t begin, int64_t end) {
      float line[kMostColumns], maxima[kMostResults];
      int32_t line_places[kMostResults];
      std::fill_n(line, line_floats(g_), -std::numeric_limits<float>::infinity());
      for (int64_t plane = begin; plane < end; ++plane) {
        kernels().max_plane(plan_, data + plane * g_.in_size(), g_.in_size(), {line, maxima, line_places},
                            out + plane * g_.out_size(), at(plane));
      }
    });
  }

 private:
  static constexpr int64_t kMostResults = 4096, kMostColumns = 2048;

  static int64_t rounded(int64_t windows) { return (windows + kMaxStep - 1) / kMaxStep * kMaxStep; }
  static int64_t slots(const PoolGeometry& g) { return g.kernel[0] * g.kernel[1]; }
  // Columns of a line that are read: with stride 2 in pairs.
  static int64_t read(const PoolGeometry& g) {
    return (rounded(g.out[2]) - 1) * g.stride[2] + g.kernel[2] + (g.stride[2] == 2 ? g.kernel[2] % 2 : 0);
  }
  static int64_t line_floats(const PoolGeometry& g) { return std::max(read(g), g.pad[2] + g.in[2]); }

  void add_row(int64_t d, int64_t h, std::vector<int64_t>& held) {
    MaxPlan::Row row{static_cast<int64_t>(lines_.size()), 0};
    for (int64_t i = 0; i < slots(g_); ++i) {
      const int64_t depth = d * g_.stride[0] - g_.pad[0] + i / g_.kernel[1];
      const int64_t height = h * g_.stride[1] - g_.pad[1] + i % g_.kernel[1];
      if (depth < 0 || depth >= g_.in[0] || height < 0 || height >= g_.in[1]) continue;
      const int64_t offset = (depth * g_.in[1] + height) * g_.in[2];
      const int64_t slot = depth % g_.kernel[0] * g_.kernel[1] + height % g_.kernel[1];
      lines_.push_back({.offset = offset,
                        .slot = static_cast<int32_t>(slot),
                        .code = static_cast<int32_t>(i * g_.kernel[2]),
                        .is_new = std::exchange(held[static_cast<size_t>(slot)], offset) != offset});
      ++row.count;
    }
    rows_.push_back(row);
  }

  const PoolGeometry g_;
  std::vector<MaxPlan::Line> lines_;
  std::vector<MaxPlan::Row> rows_;
  MaxPlan plan_;
};

Support pooling_max_support(const PoolingParams& p, const KernelSpec& spec) {
  if (spec.in[0].dtype != DType::float32) return Support::no("it is for float32");
  if (p.pool_type != PoolType::max) return Support::no("it is for maxima");
  if (has_wide_places(p)) return Support::no("it is for windows of up to 255 places");
  const PoolGeometry g(p, spec.in[0].shape);
  if (g.channels_last) return Support::no("it is for channels first");
  if (!PoolingMax::fits(g)) return Support::no("the windows have too many lines, or too long ones");
  return Support::yes();
}

Support pooling_max2_backward_support(const PoolingParams& p, const KernelSpec& spec) {
  if (spec.in[0].dtype != DType::float32) return Support::no("it is for float32");
  const PoolGeometry g(p, spec.in[2].shape);
  if (g.channels_last || has_wide_places(p)) return Support::no("it is for channels first, and byte places");
  if (!is_max2(g)) return Support::no("it is for whole 2x2 windows, stride 2");
  return Support::yes();
}

void pooling_max2_backward_simd(const PoolingParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const PoolGeometry g(p, args.in[2].shape);
  const float* const grad = args.in[0].as<float>();
  const BytePlace* const places = args.in[1].as<BytePlace>();
  float* const out = args.out[0].mutable_as<float>();
  const bool leaves_gaps = 2 * g.out[1] != g.in[1] || 2 * g.out[2] != g.in[2];
  engine::parallel_each(*args.context, g.batch * g.channels, grain(g), [&](int64_t plane) {
    float* to = out + plane * g.in_size();
    if (leaves_gaps) std::fill_n(to, g.in_size(), 0.0f);
    kernels().max2_backward(g.out[1], g.out[2], g.in[2], grad + plane * g.out_size(),
                            places + plane * g.out_size(), to);
  });
}

}  // namespace

void kernels_pool_max(OpTable& table) {
  table.prepared_kernel<PoolingParams, PoolingMax, pooling_max_support>("Pooling", "pooling_max_simd");
}

void gradients_pool_max(OpTable& table) {
  table.kernel<pooling_max2_backward_simd, pooling_max2_backward_support>("_backward_Pooling_max",
                                                                          "pooling_max2_backward_simd");
}

}  // namespace loomix::ops
