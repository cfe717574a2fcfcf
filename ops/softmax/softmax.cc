// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/softmax.h"

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = SoftmaxParams;

GradValue call(GradBuilder& g, const std::string& op, std::initializer_list<GradValue> inputs) {
  return g.call(op, std::span(inputs.begin(), inputs.size()), g.attrs())[0];
}

void infer_shape(const Params& p, ShapeInfer& s) {
  s.tie({0});
  const Shape& data = s.in(0);
  if (!data.ndim_known()) return;
  const int axis = normalize_axis(p.axis, data.ndim(), s.who());
  if (s.num_in() == 1) return;
  Shape length;
  for (int i = 0; i < data.ndim(); ++i) {
    if (i != axis) length.push_back(data[i]);
  }
  s.set_in(1, length);
}

void infer_type(const Params& p, TypeInfer& t) {
  t.set_out(0, p.dtype.value_or(t.in(0)));
  if (!p.dtype) t.set_in(0, t.out(0));
  if (t.num_in() > 1 && t.in(1) == DType::unknown) t.set_in(1, DType::int32);
}

void infer_backward_type(const Params&, TypeInfer& t) {  // grad, output, data
  t.tie({0, 1}, {});
  t.tie({2});
}

bool takes_length(const Params& p) { return p.use_length.value_or(false); }

// The rules are plain functions, so each kind has its own.
template <SoftmaxKind kind>
void gradient(const Params&, GradBuilder& g) {
  constexpr const char* names[] = {"_backward_softmax", "_backward_softmin", "_backward_log_softmax"};
  if (g.wants(0)) g.set(0, call(g, names[static_cast<int>(kind)], {g.grad_of(0), g.out(0), g.in(0)}));
}
template <SoftmaxKind kind>
void gradient_twice(const Params& p, GradBuilder& g) {
  constexpr const char* names[] = {"_backward_softmax", "_backward_softmin", "_backward_log_softmax"};
  const std::string name = names[static_cast<int>(kind)];
  LOOMIX_CHECK(!p.dtype, NotImplementedError,
               "[{}] the second derivative is not implemented for an output type of its own (dtype).", name);
  if (g.wants(0)) g.set(0, call(g, name + "_grad", {g.grad_of(0), g.in(0), g.in(1)}));
  if (g.wants(1)) g.set(1, call(g, name + "_output", {g.grad_of(0), g.in(0), g.in(1)}));
}

template <SoftmaxKind kind>
OpBuilder<Params> add_kind(OpTable& table, const char* name) {
  const std::string backward = std::string("_backward_") + name;
  auto op = table.add<Params>(name);
  op.output("output")
      .infer_shape(infer_shape)
      .infer_type(infer_type)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .element_cost(1)
      .gradient(gradient<kind>);
  table.add_hidden<Params>(backward, {"grad", "output", "data"})
      .shape_only(2)
      .one_shape()
      .infer_type(infer_backward_type)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .inplace(1, 0)
      .gradient(gradient_twice<kind>);
  table.add_hidden<Params>(backward + "_grad", {"head", "grad", "output"}).one_shape().types(kFloatingTypes);
  table.add_hidden<Params>(backward + "_output", {"head", "grad", "output"})
      .one_shape()
      .types(kFloatingTypes);
  return op;
}

}  // namespace

void register_softmax(OpTable& table) {
  add_kind<SoftmaxKind::softmax>(table, "softmax")
      .doc("Scales exponentials along `axis` so that they sum to one.")
      .inputs({"data", "length"})
      .last_input_if(takes_length)
      .input_types(1, kNumericTypes);
  add_kind<SoftmaxKind::softmin>(table, "softmin").doc("The softmax of the negated input.").input("data");
  add_kind<SoftmaxKind::log_softmax>(table, "log_softmax").doc("The logarithm of the softmax.").input("data");
  using Activation = SoftmaxActivationParams;
  table.add<Activation>("SoftmaxActivation", {"data"})
      .doc("Softmax along the last axis, or over the channels at each place.")
      .one_shape()
      .types(kFloatingTypes)
      .inplace(0, 0)
      .gradient([](const Activation&, GradBuilder& g) {
        g.set(0, call(g, "_backward_SoftmaxActivation", {g.grad_of(0), g.out(0)}));
      });
  table.add_hidden<Activation>("_backward_SoftmaxActivation", {"grad", "output"})
      .one_shape()
      .types(kFloatingTypes);
}

}  // namespace loomix::ops
