// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/fully_connected.h"

#include <cmath>

#include "base/error.h"
#include "ops/linear/bilinear.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = FullyConnectedParams;
constexpr Bilinear kOps{"FullyConnected", "_backward_FullyConnected_data", "_backward_FullyConnected_weight",
                        "_backward_FullyConnected_bias"};

// Data, weight and output, or two of them and the gradient that is made, have rows x columns, hidden x columns and rows x hidden
// elements. So this is how often two are multiplied, for each of the three operators.
double cost(const Params&, const KernelSpec& spec) {
  const auto size = [](const TensorView& view) { return static_cast<double>(view.size()); };
  return 500 + 0.02 * std::sqrt(size(spec.in[0]) * size(spec.in[1]) * size(spec.out[0]));
}

}  // namespace

// The data's shape and the weight's columns, and the output's shape, each from the others. While nothing is known of
// the data nothing is said of the weight, as in MXNet: scripts take () for "not known yet".
void fully_connected_shapes(const FullyConnectedParams& p, BilinearShapes& s) {
  const Shape &data = s.a(), &weight = s.b(), &out = s.out();
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
    s.set_out(result);
    if (own_columns >= 0) columns = own_columns;
    if (out.ndim() == result.ndim() || (data.ndim() - first == 1 && columns >= 0)) {
      Shape back = data;
      if (out.ndim() == result.ndim()) {
        for (int axis = 0; axis < first; ++axis) {
          if (back[axis] < 0) back[axis] = out[axis];
        }
      }
      if (data.ndim() - first == 1 && back[first] < 0) back[first] = columns;
      s.set_a(back);
    }
    s.set_b(Shape{p.num_hidden, columns});
  }
}

void register_fully_connected(OpTable& table) {
  add_bilinear<Params, kOps, fully_connected_shapes, cost>(table, "data", "weight")
      .doc("Multiplies the data by the transposed weight and adds the bias.")
      .aliases({"_sparse_FullyConnected"})
      .with_bias([](const Params& p) -> Ref<const AttrsBase> {
        Params biased = p;
        biased.no_bias = false;
        return make_attrs(std::move(biased));
      });
  table.refine<Params>(kOps.fa).accumulates();
}

void register_closed_products(OpTable& table) {
  add_closed_bilinear<Params, fully_connected_shapes, cost>(table, "_relu_FullyConnected", "data", "weight");
}

}  // namespace loomix::ops
