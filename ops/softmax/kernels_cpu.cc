// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "ops/families.h"
#include "ops/softmax/softmax.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <SoftmaxKind kind>
void add_kind(OpTable& table, const char* name) {
  using P = SoftmaxParams;
  constexpr DeviceType cpu = DeviceType::cpu;
  const std::string backward = std::string("_backward_") + name;
  table.kernel<P, softmax_simd<kind>, softmax_simd_support>(name, "softmax_simd", cpu);
  table.kernel<P, softmax_cpu<kind>>(name, "softmax_cpu", cpu);
  table.kernel<P, softmax_backward_simd<kind>, softmax_simd_support>(backward, "softmax_backward_simd", cpu);
  table.kernel<P, softmax_backward_cpu<kind>>(backward, "softmax_backward_cpu", cpu);
  table.kernel<P, softmax_twice_grad_cpu<kind>>(backward + "_grad", "softmax_twice_grad_cpu", cpu);
  table.kernel<P, softmax_twice_output_cpu<kind>>(backward + "_output", "softmax_twice_output_cpu", cpu);
}

}  // namespace

void kernels_softmax_cpu(OpTable& table) {
  add_kind<SoftmaxKind::softmax>(table, "softmax");
  add_kind<SoftmaxKind::softmin>(table, "softmin");
  add_kind<SoftmaxKind::log_softmax>(table, "log_softmax");
  table.kernel<SoftmaxActivationParams, softmax_activation_cpu>("SoftmaxActivation", "softmax_activation_cpu",
                                                                DeviceType::cpu);
  table.kernel<SoftmaxActivationParams, softmax_activation_backward_cpu>(
      "_backward_SoftmaxActivation", "softmax_activation_backward_cpu", DeviceType::cpu);
}

}  // namespace loomix::ops
