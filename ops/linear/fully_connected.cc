// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/fully_connected.h"

#include "base/error.h"
#include "ops/linear/bilinear.h"
#include "ops/linear/linear.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = FullyConnectedParams;
constexpr Bilinear kOps{"FullyConnected", "_backward_FullyConnected_data", "_backward_FullyConnected_weight"};

// The data's shape and the weight's columns, and the output's shape, each from the others. While nothing is known of
// the data nothing is said of the weight, as in MXNet: scripts take () for "not known yet".
void relate(const Params& p, ShapeInfer& s, const Shape& data, const Shape& weight, const Shape& out,
            void (*put)(ShapeInfer&, int, const Shape&)) {
  constexpr int kData = 0, kWeight = 1, kOut = 2;
  int64_t columns = weight.ndim() == 2 ? weight[1] : kUnknownDim;
  if (data.ndim_known()) {
    LOOMIX_CHECK(data.ndim() >= 1, ShapeError, "[{}] the data is a scalar; expected at least one axis.",
                 s.who());
    Shape result;
    int64_t own_columns = 1;
    const int first = p.flatten ? 1 : data.ndim() - 1;
    for (int axis = 0; axis < first; ++axis) result.push_back(data[axis]);
    for (int axis = first; axis < data.ndim(); ++axis) {
      own_columns = data[axis] < 0 || own_columns < 0 ? kUnknownDim : own_columns * data[axis];
    }
    result.push_back(p.num_hidden);
    put(s, kOut, result);
    if (own_columns >= 0) columns = own_columns;
    if (out.ndim() == result.ndim() || (data.ndim() - first == 1 && columns >= 0)) {
      Shape back = data;
      if (out.ndim() == result.ndim()) {
        for (int axis = 0; axis < first; ++axis) {
          if (back[axis] < 0) back[axis] = out[axis];
        }
      }
      if (data.ndim() - first == 1 && back[first] < 0) back[first] = columns;
      put(s, kData, back);
    }
    put(s, kWeight, Shape{p.num_hidden, columns});
  }
}

void infer_forward(const Params& p, ShapeInfer& s) {
  relate(p, s, s.in(0), s.in(1), s.out(0), [](ShapeInfer& to, int which, const Shape& shape) {
    which == 2 ? to.set_out(0, shape) : to.set_in(which, shape);
  });
  if (!p.no_bias) s.set_in(2, Shape{p.num_hidden});
}

// grad, weight, data -> like data.
void infer_data(const Params& p, ShapeInfer& s) {
  s.set_in(2, s.out(0));
  relate(p, s, s.in(2), s.in(1), s.in(0), [](ShapeInfer& to, int which, const Shape& shape) {
    to.set_in(which == 2 ? 0 : which == 1 ? 1 : 2, shape);
  });
  s.set_out(0, s.in(2));
}

// grad, data, weight -> like weight.
void infer_weight(const Params& p, ShapeInfer& s) {
  s.set_in(2, s.out(0));
  relate(p, s, s.in(1), s.in(2), s.in(0), [](ShapeInfer& to, int which, const Shape& shape) {
    to.set_in(which == 2 ? 0 : which == 1 ? 2 : 1, shape);
  });
  s.set_out(0, s.in(2));
}

double cost(const Params& p, const KernelSpec& spec) {
  const double elements = static_cast<double>(spec.in[0].size()) + static_cast<double>(spec.out[0].size());
  return 500 + 0.02 * elements * p.num_hidden;
}

}  // namespace

void register_fully_connected(OpTable& table) {
  table.add<Params>("FullyConnected")
      .aliases({"_sparse_FullyConnected"})
      .doc("Multiplies the data by the transposed weight and adds the bias.")
      .inputs({"data", "weight", "bias"})
      .last_input_if([](const Params& p) { return !p.no_bias; })
      .output("output")
      .infer_shape(infer_forward)
      .infer_type(same_type<Params>)
      .types(kFloatingTypes)
      .cost(cost)
      .gradient([](const Params& p, GradBuilder& g) {
        bilinear_gradient(kOps, g);
        if (!p.no_bias && g.wants(2)) g.set(2, call_with(g, "_backward_FullyConnected_bias", {g.grad_of(0)}));
      });
  table.add<Params>(kOps.fa)
      .hidden()
      .inputs({"grad", "weight", "data"})
      .shape_only(2)
      .output("output")
      .infer_shape(infer_data)
      .infer_type(same_type<Params>)
      .types(kFloatingTypes)
      .cost(cost)
      .accumulates()
      .gradient(
          [](const Params&, GradBuilder& g) { bilinear_gradient_a(kOps, g, without_bias(*g.attrs())); });
  table.add<Params>(kOps.fb)
      .hidden()
      .inputs({"grad", "data", "weight"})
      .shape_only(2)
      .output("output")
      .infer_shape(infer_weight)
      .infer_type(same_type<Params>)
      .types(kFloatingTypes)
      .cost(cost)
      .accumulates()
      .gradient(
          [](const Params&, GradBuilder& g) { bilinear_gradient_b(kOps, g, without_bias(*g.attrs())); });
  table.add<Params>("_backward_FullyConnected_bias")
      .hidden()
      .input("grad")
      .output("output")
      .infer_shape([](const Params& p, ShapeInfer& s) { s.set_out(0, Shape{p.num_hidden}); })
      .infer_type(same_type<Params>)
      .types(kFloatingTypes)
      .accumulates();
}

}  // namespace loomix::ops
