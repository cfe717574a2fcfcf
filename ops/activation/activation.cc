// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/activation.h"

#include "ops/families.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace loomix::ops {

void register_leaky_relu(OpTable& table);

namespace {

using Params = ActivationParams;

GradValue call(GradBuilder& g, const char* op, std::initializer_list<GradValue> inputs) {
  return g.call(op, std::span(inputs.begin(), inputs.size()), g.attrs())[0];
}

}  // namespace

void register_activation(OpTable& table) {
  table.add<Params>("Activation")
      .doc("Applies an activation function to each element.")
      .input("data")
      .output("output")
      .infer_shape(same_shape<Params>)
      .infer_type(same_type<Params>)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .element_cost(0.4)
      .gradient([](const Params&, GradBuilder& g) {
        g.set(0, call(g, "_backward_Activation", {g.grad_of(0), g.out(0)}));
      });
  table.add<Params>("_backward_Activation")
      .hidden()
      .inputs({"grad", "output"})
      .output("output")
      .infer_shape(same_shape<Params>)
      .infer_type(same_type<Params>)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .inplace(1, 0)
      .gradient([](const Params&, GradBuilder& g) {
        const GradValue head = g.grad_of(0);
        if (g.wants(0)) g.set(0, call(g, "_backward_Activation", {head, g.in(1)}));
        if (g.wants(1)) g.set(1, call(g, "_backward_Activation_twice", {head, g.in(0), g.in(1)}));
      });
  table.add<Params>("_backward_Activation_twice")
      .hidden()
      .inputs({"head", "grad", "output"})
      .output("output")
      .infer_shape(same_shape<Params>)
      .infer_type(same_type<Params>)
      .types(kFloatingTypes)
      .inplace(0, 0);
  register_leaky_relu(table);
}

}  // namespace loomix::ops
