// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

enum class ActType { relu, sigmoid, tanh, softrelu, softsign };

struct ActivationParams {
  ActType act_type = ActType::relu;

  static void fields(FieldList<ActivationParams>& f) {
    f("act_type", &ActivationParams::act_type, "The function to apply.")
        .options({{"relu", ActType::relu},
                  {"sigmoid", ActType::sigmoid},
                  {"softrelu", ActType::softrelu},
                  {"softsign", ActType::softsign},
                  {"tanh", ActType::tanh}})
        .required("relu");
  }
};

// data -> f(data). The derivatives are functions of the output y: with s(y) = f'(x),
void activation_cpu(const ActivationParams&, const KernelArgs&);
// grad, y -> grad s(y),
void activation_backward_cpu(const ActivationParams&, const KernelArgs&);
// head, grad, y -> head grad s'(y).
void activation_backward_twice_cpu(const ActivationParams&, const KernelArgs&);

void activation_simd(const ActivationParams&, const KernelArgs&);
void activation_backward_simd(const ActivationParams&, const KernelArgs&);
Support activation_simd_support(const ActivationParams&, const KernelSpec&);

}  // namespace loomix::ops
