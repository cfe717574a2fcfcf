// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/l2_norm.h"

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void l2_shape(const L2NormalizationParams& p, ShapeInfer& s) {
  s.tie({0});
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
  s.tie({0}, {0, 1});
  s.expect(0, s.in(0).ndim() == 4, "4 axes");
}

}  // namespace

void register_l2_norm(OpTable& table) {
  table.add<L2NormalizationParams>("L2Normalization", {"data"})
      .doc("Divides data by its Euclidean norm.")
      .outputs({"output", "norm"})
      .num_visible_outputs([](const L2NormalizationParams&) { return 1; })
      .infer_shape(l2_shape)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .gradient_op("_backward_L2Normalization", {head(0), output(0), output(1)});
  table.add_hidden<L2NormalizationParams>("_backward_L2Normalization", {"grad", "output", "norm"})
      .output("data")
      .shape_of(0)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .inplace(1, 0);
  table.add<LRNParams>("LRN", {"data"})
      .doc("Divides each element by a power of the mean square of the channels around it.")
      .outputs({"output", "denominator"})
      .num_visible_outputs([](const LRNParams&) { return 1; })
      .infer_shape(lrn_shape)
      .types(kFloatingTypes)
      .element_cost(1.5)
      .gradient_op("_backward_LRN", {head(0), input(0)});
  table.add_hidden<LRNParams>("_backward_LRN", {"grad", "data"})
      .output("data")
      .shape_of(0)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .inplace(1, 0)
      .element_cost(2.5);
}

}  // namespace loomix::ops
