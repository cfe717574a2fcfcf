// SPDX-License-Identifier: Apache-2.0
#include "ops/table.h"
#include "symbol/autograd/tape_node.h"

namespace loomix::autograd {

namespace {

void infer_nothing_shape(const CustomParams&, ops::ShapeInfer&) {}
void infer_nothing_type(const CustomParams&, ops::TypeInfer&) {}

void custom_gradient(const CustomParams& params, ops::GradBuilder& g) {
  std::vector<ops::GradValue> grads;
  for (int i = 0; i < params.num_outputs; ++i) grads.push_back(g.grad_of(i));
  const std::vector<ops::GradValue> result = g.call(kCustomGradientOp, grads, g.attrs());
  for (int i = 0; i < params.num_inputs; ++i) g.set(i, result[static_cast<size_t>(i)]);
}

void refuse_to_run(const CustomParams&, const ops::KernelArgs&) {
  detail::throw_error<StateError>(
      "[{}] a custom function runs on the tape of the thread that recorded it only.", kCustomOp);
}

}  // namespace

void CustomParams::fields(FieldList<CustomParams>& f) {
  f("num_inputs", &CustomParams::num_inputs, "Arrays that the function takes.");
  f("num_outputs", &CustomParams::num_outputs, "Arrays that it returns.");
}

void register_operators(ops::OpTable& table) {
  table.add<CustomParams>(kCustomOp)
      .doc("A recorded function whose gradient is computed by its author's code.")
      .variadic("arg", "num_inputs", &CustomParams::num_inputs)
      .output("output")
      .num_outputs([](const CustomParams& p) { return p.num_outputs; })
      .infer_shape(infer_nothing_shape)
      .infer_type(infer_nothing_type)
      .gradient(custom_gradient)
      .hidden()
      .no_symbol();
  table.add<CustomParams>(kCustomGradientOp)
      .doc("The gradient of a recorded function.")
      .variadic("grad", "num_outputs", &CustomParams::num_outputs)
      .output("output")
      .num_outputs([](const CustomParams& p) { return p.num_inputs; })
      .infer_shape(infer_nothing_shape)
      .infer_type(infer_nothing_type)
      .hidden()
      .no_symbol()
      .runs_on_caller();
  table.kernel<refuse_to_run>(kCustomOp, "custom_cpu");
  table.kernel<refuse_to_run>(kCustomGradientOp, "backward_custom_cpu");
}

}  // namespace loomix::autograd
