// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/pool/pooling.h"
#include "ops/pool/pooling_kernels.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 16384;

const PoolKernels& kernels() { return best_loops<PoolKernels>(); }

Support supports(const PoolingParams& p, const TensorView& data) {
  if (data.dtype != DType::float32) return Support::no("it is for float32");
  if (data.shape.ndim() != 4 || p.pool_type != PoolType::max || p.global_pool) {
    return Support::no("it is for maxima over two axes");
  }
  const PoolGeometry g(p, data.shape);
  if (g.channels_last) return Support::no("it is for channels first");
  for (int i : {1, 2}) {
    if (g.kernel[i] != 2 || g.stride[i] != 2 || g.pad[i] != 0)
      return Support::no("it is for 2x2 windows, stride 2");
    if (2 * g.out[i] > g.in[i]) return Support::no("it is for whole windows");
  }
  return Support::yes();
}

int64_t grain(const PoolGeometry& g) { return kElementsPerThread / std::max<int64_t>(1, g.in_size()); }

// Maxima of 2x2 windows with stride 2, float32, channels first.
Support pooling_max2_support(const PoolingParams& p, const KernelSpec& spec) {
  return supports(p, spec.in[0]);
}

Support pooling_max2_backward_support(const PoolingParams& p, const KernelSpec& spec) {
  return supports(p, spec.in[1]);
}

void pooling_max2_simd(const PoolingParams& p, const KernelArgs& args) {
  const PoolGeometry g(p, args.in[0].shape);
  const float* data = args.in[0].as<float>();
  float* out = args.out[0].mutable_as<float>();
  engine::parallel_each(*args.context, g.batch * g.channels, grain(g), [&](int64_t plane) {
    kernels().max2(g.out[1], g.out[2], g.in[2], data + plane * g.in_size(), out + plane * g.out_size());
  });
}

void pooling_max2_backward_simd(const PoolingParams& p, const KernelArgs& args) {
  const PoolGeometry g(p, args.in[1].shape);
  const float* grad = args.in[0].as<float>();
  const float* data = args.in[1].as<float>();
  float* out = args.out[0].mutable_as<float>();
  const bool leaves_gaps = 2 * g.out[1] != g.in[1] || 2 * g.out[2] != g.in[2];
  engine::parallel_each(*args.context, g.batch * g.channels, grain(g), [&](int64_t plane) {
    float* to = out + plane * g.in_size();
    if (leaves_gaps) std::fill_n(to, g.in_size(), 0.0f);
    kernels().max2_backward(g.out[1], g.out[2], g.in[2], grad + plane * g.out_size(),
                            data + plane * g.in_size(), to);
  });
}

}  // namespace

void kernels_pool_max2(OpTable& table) {
  table.kernel<pooling_max2_simd, pooling_max2_support>("Pooling", "pooling_max2_simd");
  table.kernel<pooling_max2_backward_simd, pooling_max2_backward_support>("_backward_Pooling",
                                                                          "pooling_max2_backward_simd");
}

}  // namespace loomix::ops
