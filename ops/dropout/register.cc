// SPDX-License-Identifier: Apache-2.0
#include "ops/dropout/dropout.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = DropoutParams;

bool drops(const Params& p, bool training) { return p.p > 0 && (training || p.mode == DropoutMode::always); }

Shape mask_shape(const Params& p, const Shape& data) {
  Shape mask = data;
  for (int64_t axis : p.axes) mask[normalize_axis(axis, data.ndim(), "Dropout")] = 1;
  return mask;
}

}  // namespace

void register_dropout(OpTable& table) {
  table.add<Params>("Dropout", {"data"})
      .doc("Sets random elements to zero while training, and scales the others so that the mean stays.")
      .outputs({"output", "mask"})
      .num_visible_outputs([](const Params&) { return 1; })
      .infer_shape([](const Params& p, ShapeInfer& s) {
        s.tie({0});
        if (s.in(0).ndim_known()) s.set_out(1, mask_shape(p, s.in(0)));
      })
      .types(kFloatingTypes)
      .inplace(0, 0)
      .element_cost(2)
      .training_matters()
      .idle([](const Params& p, bool training) { return !drops(p, training); })
      .uses_rng([](const Params& p, const KernelSpec& spec) {
        return drops(p, spec.training) ? static_cast<uint64_t>(spec.in[0].size()) : uint64_t{0};
      })
      .gradient_op("_backward_Dropout", {head(0), output(1)})
      .again("_backward_Dropout", {input(0), output(1)});
  table.add_hidden<Params>("_backward_Dropout", {"grad", "mask"})
      .infer_shape([](const Params& p, ShapeInfer& s) {
        s.tie({0});
        if (s.in(0).ndim_known()) s.set_in(1, mask_shape(p, s.in(0)));
      })
      .types(kFloatingTypes)
      .inplace(0, 0)
      .gradient_op("_backward_Dropout", {head(0), input(1)});
}

}  // namespace loomix::ops
