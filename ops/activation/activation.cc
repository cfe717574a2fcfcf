// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/activation.h"

#include "ops/elemwise/op_list.h"
#include "ops/grad_builder.h"
#include "ops/table.h"

namespace loomix::ops {

namespace {

using Params = ActivationParams;

void activation_gradient(const Params& p, GradBuilder& g) {
  const auto by = [&](auto kind) {
    const GradValue kept = kind.kept == Kept::data ? g.in(0) : g.out(0);
    g.set(0, g.call1(kind.backward, {g.grad_of(0), kept}));
  };
  auto place = static_cast<size_t>(p.act_type);
  std::apply([&](const auto&... kind) { ((place-- == 0 ? by(kind) : void()), ...); }, kActivations);
}

}  // namespace

void register_activation(OpTable& table) {
  table.add<Params>("Activation", {"data"})
      .doc("Applies an activation function to each element.")
      .one_shape()
      .types(kFloatingTypes)
      .inplace(0, 0)
      .elementwise()
      .clamp([](const Params& p) -> std::optional<Clamp> {
        constexpr auto kRelu =
            static_cast<ActType>(place_of<fn::Relu>(decltype(functors_of(kActivations)){}));
        if (p.act_type != kRelu) return {};
        return Clamp{.low = 0};
      })
      .element_cost(0.4)
      .gradient(activation_gradient);
}

}  // namespace loomix::ops
