// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/l2_norm.h"

#include "base/error.h"
#include "ops/norm/norm.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void l2_shape(const L2NormalizationParams& p, ShapeInfer& s) {
  s.set_out(0, s.in(0));
  s.set_in(0, s.out(0));
  const Shape& data = s.in(0);
  if (!data.ndim_known()) return;
  const int fewest = p.mode == L2Mode::instance ? 1 : p.mode == L2Mode::channel ? 2 : 3;
  LOOMIX_CHECK(data.ndim() >= fewest, ShapeError, "[{}] data has shape {}; this mode needs {} axes or more.",
               s.who(), data.to_string(), fewest);
  Shape norm{data[0]};
  if (p.mode == L2Mode::spatial) norm.push_back(data[1]);
  for (int axis = 2; p.mode == L2Mode::channel && axis < data.ndim(); ++axis) norm.push_back(data[axis]);
  s.set_out(1, norm);
}

void lrn_shape(const LRNParams& p, ShapeInfer& s) {
  LOOMIX_CHECK(p.nsize % 2 == 1, ValueError, "[{}] nsize is {}; expected an odd number.", s.who(), p.nsize);
  for (int i = 0; i < 2; ++i) s.set_out(i, s.in(0));
  s.set_in(0, s.out(0));
  const Shape& data = s.in(0);
  LOOMIX_CHECK(!data.ndim_known() || data.ndim() == 4, ShapeError, "[{}] data has shape {}; expected 4 axes.",
               s.who(), data.to_string());
}

// The gradient operator's output has the shape of its first input.
template <class P>
void shape_of_first(const P&, ShapeInfer& s) {
  s.set_out(0, s.in(0));
  s.set_in(0, s.out(0));
}

}  // namespace

void register_l2_norm(OpTable& table) {
  table.add<L2NormalizationParams>("L2Normalization")
      .doc("Divides data by its Euclidean norm.")
      .input("data")
      .output("output")
      .output("norm")
      .num_visible_outputs([](const L2NormalizationParams&) { return 1; })
      .infer_shape(l2_shape)
      .infer_type(same_type<L2NormalizationParams>)
      .types(kFloatingTypes)
      .gradient([](const L2NormalizationParams&, GradBuilder& g) {
        const GradValue inputs[] = {g.grad_of(0), g.out(0), g.out(1)};
        g.set(0, g.call("_backward_L2Normalization", inputs, g.attrs())[0]);
      });
  table.add<L2NormalizationParams>("_backward_L2Normalization")
      .hidden()
      .inputs({"grad", "output", "norm"})
      .output("data")
      .infer_shape(shape_of_first<L2NormalizationParams>)
      .infer_type(same_type<L2NormalizationParams>)
      .types(kFloatingTypes);
  table.add<LRNParams>("LRN")
      .doc("Divides each element by a power of the mean square of the channels around it.")
      .input("data")
      .output("output")
      .output("denominator")
      .num_visible_outputs([](const LRNParams&) { return 1; })
      .infer_shape(lrn_shape)
      .infer_type(same_type<LRNParams>)
      .types(kFloatingTypes)
      .element_cost(5)
      .gradient([](const LRNParams&, GradBuilder& g) {
        const GradValue inputs[] = {g.grad_of(0), g.in(0), g.out(0), g.out(1)};
        g.set(0, g.call("_backward_LRN", inputs, g.attrs())[0]);
      });
  table.add<LRNParams>("_backward_LRN")
      .hidden()
      .inputs({"grad", "data", "output", "denominator"})
      .output("data")
      .infer_shape(shape_of_first<LRNParams>)
      .infer_type(same_type<LRNParams>)
      .types(kFloatingTypes)
      .element_cost(8);
}

}  // namespace loomix::ops
