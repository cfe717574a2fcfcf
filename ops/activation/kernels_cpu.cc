// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/activation.h"
#include "ops/activation/leaky_relu.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_activation_cpu(OpTable& table) {
  using Leaky = LeakyReluParams;
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<ActivationParams, activation_cpu>("Activation", "activation_cpu", cpu);
  table.kernel<Leaky, leaky_relu_cpu>("LeakyReLU", "leaky_relu_cpu", cpu);
  table.kernel<Leaky, leaky_relu_backward_cpu>("_backward_LeakyReLU", "leaky_relu_backward_cpu", cpu);
  table.kernel<Leaky, leaky_relu_gamma_cpu>("_backward_LeakyReLU_gamma", "leaky_relu_gamma_cpu", cpu);
  table.kernel<Leaky, leaky_relu_backward_twice_cpu>("_backward_LeakyReLU_twice",
                                                     "leaky_relu_backward_twice_cpu", cpu);
}

}  // namespace loomix::ops
