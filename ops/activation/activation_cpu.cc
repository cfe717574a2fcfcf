// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/activation.h"
#include "ops/elemwise/apply.h"
#include "ops/elemwise/unary.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class... Kind>
Unary code_of(ActType type, const std::tuple<Kind...>&) {
  static constexpr Unary kCodes[] = {unary_code<typename Kind::Functor>...};
  return kCodes[static_cast<size_t>(type)];
}

void activation_cpu(const ActivationParams& p, const KernelArgs& args) {
  apply_unary(code_of(p.act_type, kActivations), args.in[0], args.out[0], args);
}

}  // namespace

void kernels_activation(OpTable& table) { table.kernel<activation_cpu>("Activation", "activation_cpu"); }

}  // namespace loomix::ops
