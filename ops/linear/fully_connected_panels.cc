// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/limits.h"
#include "ops/linear/fully_connected.h"
#include "ops/linear/fully_connected_loops.h"

namespace loomix::ops {
namespace {

const FullyConnectedLoops& loops() { return best_loops<FullyConnectedLoops>(); }

}  // namespace

// Measured beside oneDNN's product, which is slow for a weight that no cache holds, and for a few dozen rows.
Support panels_pay(int64_t rows, int64_t fewest, int64_t hidden, const WorkLimits& limits) {
  if (rows < fewest) return Support::no("there are too few rows");
  if (rows > limits.panel_rows) return Support::no("there are too many rows");
  if (hidden < limits.panel_hidden) return Support::no("there are too few hidden units");
  return Support::yes();
}

Support fully_connected_panels_support(const FullyConnectedParams& p, const KernelSpec& spec) {
  if (spec.out[0].dtype != DType::float32) return Support::no("it is for float32");
  const int64_t rows = spec.out[0].size() / p.num_hidden;
  const int64_t depth = spec.in[1].shape[1], lanes = loops().lanes;
  const int64_t least = depth * p.num_hidden > cache_limits().kept_weight_bytes ? 4 : lanes * 4 / 5;
  return panels_pay(rows, least, p.num_hidden);
}

size_t fully_connected_panels_scratch(const FullyConnectedParams& p, const KernelSpec& spec) {
  const int64_t rows = spec.out[0].size() / p.num_hidden, width = loops().width;
  return static_cast<size_t>((rows + width - 1) / width * width * spec.in[1].shape[1]) * sizeof(float);
}

void fully_connected_panels(const FullyConnectedParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const FullyConnectedLoops& l = loops();
  const int64_t hidden = p.num_hidden;
  const int64_t rows = out.size() / hidden;
  const int64_t depth = args.in[1].shape[1];
  const float* data = args.in[0].as<float>();
  const float* weight = args.in[1].as<float>();
  const float* bias = p.no_bias ? nullptr : args.in[2].as<float>();
  float* to = out.mutable_as<float>();
  float* const panels = reinterpret_cast<float*>(args.scratch.data());
  constexpr int64_t kPackGrain = 128;
  const int64_t grain =
      depth > cache_limits().panel_depth ? 96 : 24;  // what is deep reads the panel piece by piece
  engine::parallel_for(*args.context, depth, kPackGrain,
                       [&](int64_t begin, int64_t end) { l.pack(rows, depth, data, begin, end, panels); });
  engine::parallel_for(*args.context, (hidden + grain - 1) / grain, 1, [&](int64_t begin, int64_t end) {
    l.columns(rows, hidden, depth, panels, weight, bias, begin * grain, std::min(end * grain, hidden), to);
  });
}

}  // namespace loomix::ops
