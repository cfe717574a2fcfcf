// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel_for.h"
#include "ops/activation/activation_kernels.h"
#include "ops/isa.h"

namespace loomix::ops {
namespace {

constexpr int64_t kGrain = 16384;

const ActivationKernels& kernels() {
  if constexpr (LOOMIX_ISA_LEVELS > 1) {
    if (machine_isa() == Isa::v4) return isa_v4::activation_kernels;
    if (machine_isa() == Isa::v3) return isa_v3::activation_kernels;
  }
  return isa_base::activation_kernels;
}

}  // namespace

Support activation_simd_support(const ActivationParams&, const KernelSpec& spec) {
  return spec.in[0].dtype == DType::float32 ? Support::yes() : Support::no("it is for float32");
}

void activation_simd(const ActivationParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const float* x = args.in[0].as<float>();
  float* y = args.out[0].mutable_as<float>();
  engine::parallel_for(*args.context, args.out[0].size(), kGrain, [&](int64_t begin, int64_t end) {
    kernels().forward(p.act_type, x + begin, y + begin, end - begin);
  });
}

void activation_backward_simd(const ActivationParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const float* grad = args.in[0].as<float>();
  const float* y = args.in[1].as<float>();
  float* out = args.out[0].mutable_as<float>();
  engine::parallel_for(*args.context, args.out[0].size(), kGrain, [&](int64_t begin, int64_t end) {
    kernels().backward(p.act_type, grad + begin, y + begin, out + begin, end - begin);
  });
}

Support leaky_relu_simd_support(const LeakyReluParams& p, const KernelSpec& spec) {
  if (spec.in[0].dtype != DType::float32) return Support::no("it is for float32");
  if (p.act_type == LeakyType::prelu || p.act_type == LeakyType::rrelu) {
    return Support::no("it is for slopes that all elements share");
  }
  return Support::yes();
}

void leaky_relu_simd(const LeakyReluParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const float* x = args.in[0].as<float>();
  float* y = args.out[0].mutable_as<float>();
  engine::parallel_for(*args.context, args.out[0].size(), kGrain, [&](int64_t begin, int64_t end) {
    kernels().leaky_forward(p.act_type, p.slope, x + begin, y + begin, end - begin);
  });
}

void leaky_relu_backward_simd(const LeakyReluParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const float* grad = args.in[0].as<float>();
  const float* x = args.in[1].as<float>();
  float* out = args.out[0].mutable_as<float>();
  engine::parallel_for(*args.context, args.out[0].size(), kGrain, [&](int64_t begin, int64_t end) {
    kernels().leaky_backward(p.act_type, p.slope, grad + begin, x + begin, out + begin, end - begin);
  });
}

}  // namespace loomix::ops
