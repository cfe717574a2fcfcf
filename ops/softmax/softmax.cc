// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/softmax.h"

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = SoftmaxParams;

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
  if (t.num_in() > 1) t.default_in(1, DType::int32);
}

void infer_backward_type(const Params&, TypeInfer& t) {  // grad, output, data
  t.tie({0, 1}, {});
  t.tie({2});
}

bool takes_length(const Params& p) { return p.use_length.value_or(false); }

OpBuilder<Params> add(OpTable& table, const char* name) {
  const std::string backward = std::string("_backward_") + name;
  auto op = table.add<Params>(name);
  op.infer_shape(infer_shape)
      .infer_type(infer_type)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .element_cost(1)
      .gradient_op(backward, {head(0), output(0), input(0)});
  table.add_hidden<Params>(backward, {"grad", "output", "data"})
      .shape_only(2)
      .one_shape()
      .infer_type(infer_backward_type)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .inplace(1, 0)
      .gradient_by([backward](const AttrsBase& attrs, GradBuilder& g) {
        LOOMIX_CHECK(!attrs.as<Params>().dtype, NotImplementedError,
                     "[{}] the second derivative is not implemented for an output type of its own (dtype).",
                     backward);
        const std::initializer_list<GradValue> values = {g.grad_of(0), g.in(0), g.in(1)};
        if (g.wants(0)) g.set(0, g.call1(backward + "_grad", values, g.attrs()));
        if (g.wants(1)) g.set(1, g.call1(backward + "_output", values, g.attrs()));
      });
  table.add_hidden<Params>(backward + "_grad", {"head", "grad", "output"}).one_shape().types(kFloatingTypes);
  table.add_hidden<Params>(backward + "_output", {"head", "grad", "output"})
      .one_shape()
      .types(kFloatingTypes);
  return op;
}

}  // namespace

void register_softmax(OpTable& table) {
  add(table, "softmax")
      .doc("Scales exponentials along `axis` so that they sum to one.")
      .inputs({"data", "length"})
      .last_input_if(takes_length)
      .input_types(1, kNumericTypes);
  add(table, "softmin").doc("The softmax of the negated input.").input("data");
  add(table, "log_softmax").doc("The logarithm of the softmax.").input("data");
  using Activation = SoftmaxActivationParams;
  table.add<Activation>("SoftmaxActivation", {"data"})
      .doc("Softmax along the last axis, or over the channels at each place.")
      .one_shape()
      .types(kFloatingTypes)
      .inplace(0, 0)
      .gradient_op("_backward_SoftmaxActivation", {head(0), output(0)});
  table.add_hidden<Activation>("_backward_SoftmaxActivation", {"grad", "output"})
      .one_shape()
      .types(kFloatingTypes);
}

}  // namespace loomix::ops
