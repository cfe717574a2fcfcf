// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/sequence/sequence.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// data (time, batch, classes), label (batch, longest label), lengths (batch) -> loss (batch), slope like the data.
void infer_shapes(const CtcParams&, ShapeInfer& s) {
  s.tie({0}, {1});
  const Shape& data = s.in(0);
  s.expect(0, data.ndim() == 3, "three axes: time, batch, classes");
  s.expect(1, s.in(1).ndim() == 2, "two axes: batch, and room for the longest label");
  if (!data.ndim_known()) return;
  LOOMIX_CHECK(data[2] != 0, ShapeError, "[{}] data has shape {}; expected at least one class, the blank.",
               s.who(), data.to_string());
  s.set_in(1, Shape{data[1], kUnknownDim});
  for (int i = 2; i < s.num_in(); ++i) s.set_in(i, Shape{data[1]});
  s.set_out(0, Shape{data[1]});
}

void infer_types(const CtcParams&, TypeInfer& t) {
  t.tie({0}, {0, 1});
  for (int i = 1; i < t.num_in(); ++i) t.default_in(i);
}

}  // namespace

void register_ctc_loss(OpTable& table) {
  table.add<CtcParams>("CTCLoss", {"data", "label", "data_lengths", "label_lengths"})
      .doc(
          "The connectionist temporal classification loss: the negative logarithm of the probability of all "
          "ways to spread a label over time. The data are scores; their softmax are the probabilities. A "
          "label that is too long for its sequence has loss and gradient 0.")
      .aliases({"ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"})
      .inputs_if([](const CtcParams& p, int input) {
        return input < 2 || (input == 2 ? p.use_data_lengths : p.use_label_lengths);
      })
      .outputs({"output0", "output1"})
      .num_visible_outputs([](const CtcParams&) { return 1; })
      .infer_shape(infer_shapes)
      .infer_type(infer_types)
      .types(kFloatingTypes)
      .input_types(1, kNumericTypes)
      .input_types(2, kNumericTypes)
      .input_types(3, kNumericTypes)
      .element_cost(100)
      .gradient([](const CtcParams&, GradBuilder& g) {
        if (g.wants(0)) g.set(0, g.call1("_backward_CTCLoss", {g.grad_of(0), g.out(1)}));
      });
  table.add_hidden<NoParams>("_backward_CTCLoss", {"grad", "slope"})
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        s.tie({1});
        s.expect(1, s.in(1).ndim() == 3, "three axes");
        if (s.in(1).ndim_known()) s.set_in(0, Shape{s.in(1)[1]});
      })
      .types(kFloatingTypes)
      .inplace(1, 0);
}

}  // namespace loomix::ops
