// SPDX-License-Identifier: Apache-2.0
#include "ops/dropout/dropout.h"
#include "ops/families.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = DropoutParams;

Shape mask_shape(const Params& p, const Shape& data) {
  Shape mask = data;
  for (int64_t axis : p.axes) mask[normalize_axis(axis, data.ndim(), "Dropout")] = 1;
  return mask;
}

}  // namespace

void register_dropout(OpTable& table) {
  table.add<Params>("Dropout")
      .doc("Sets random elements to zero while training, and scales the others so that the mean stays.")
      .input("data")
      .output("output")
      .output("mask")
      .num_visible_outputs([](const Params&) { return 1; })
      .infer_shape([](const Params& p, ShapeInfer& s) {
        s.set_out(0, s.in(0));
        s.set_in(0, s.out(0));
        if (s.in(0).ndim_known()) s.set_out(1, mask_shape(p, s.in(0)));
      })
      .infer_type(same_type<Params>)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .element_cost(2)
      .training_matters()
      .uses_rng([](const Params& p, const KernelSpec& spec) {
        const bool drops = p.p > 0 && (spec.training || p.mode == DropoutMode::always);
        return drops ? static_cast<uint64_t>(spec.in[0].size()) : uint64_t{0};
      })
      .gradient([](const Params&, GradBuilder& g) {
        const GradValue inputs[] = {g.grad_of(0), g.out(1)};
        g.set(0, g.call("_backward_Dropout", inputs, g.attrs())[0]);
      });
  table.add<Params>("_backward_Dropout")
      .hidden()
      .inputs({"grad", "mask"})
      .output("output")
      .infer_shape([](const Params& p, ShapeInfer& s) {
        s.set_out(0, s.in(0));
        s.set_in(0, s.out(0));
        if (s.in(0).ndim_known()) s.set_in(1, mask_shape(p, s.in(0)));
      })
      .infer_type(same_type<Params>)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .gradient([](const Params&, GradBuilder& g) {
        const GradValue inputs[] = {g.grad_of(0), g.in(1)};
        if (g.wants(0)) g.set(0, g.call("_backward_Dropout", inputs, g.attrs())[0]);
      });
}

}  // namespace loomix::ops
