// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/softmax_output.h"

#include <algorithm>

#include "base/error.h"
#include "ops/loss/loss.h"

namespace loomix::ops {
namespace {

using Params = SoftmaxOutputParams;

// The label holds a class for each softmax, in one of a few shapes, or a probability for each element of the data.
void infer_label(const Params& p, ShapeInfer& s, const Shape& data, int position) {
  const Shape& label = s.in(position);
  if (!data.ndim_known()) return;
  LOOMIX_CHECK(data.ndim() >= 1, ShapeError, "[{}] the data is a scalar; expected at least one axis.",
               s.who());
  if (label.is_known() && data.is_known() && label == data) return;
  if (p.multi_output && data.ndim() >= 2) {
    Shape places{data[0]};
    for (int axis = 2; axis < data.ndim(); ++axis) places.push_back(data[axis]);
    Shape kept = data;
    kept[1] = 1;
    const int64_t rest = data.is_known() ? data.size_between(2, data.ndim()) : kUnknownDim;
    if (label.ndim_known() && (compatible(label, places) || compatible(label, kept))) return;
    if (label.ndim_known() && !compatible(label, Shape{data[0], rest})) {
      detail::throw_error<ShapeError>("[{}] the label has shape {}; expected {} for data of shape {}.",
                                      s.who(), label.to_string(), places.to_string(), data.to_string());
    }
    s.set_in(position, Shape{data[0], rest});
    return;
  }
  Shape leading;
  for (int axis = 0; axis + 1 < data.ndim(); ++axis) leading.push_back(data[axis]);
  if (!p.preserve_shape || data.ndim() == 1) leading = Shape{data[0]};
  if (label.is_known() && leading.is_known() && label.size() == leading.size()) return;
  s.set_in(position, leading);
}

void infer_forward(const Params& p, ShapeInfer& s) {
  s.tie({0});
  infer_label(p, s, s.in(0), 1);
}

ClassNumbers labels(const Params& p, std::span<const TensorView> in) {
  const Shape& shape = in[0].shape;
  if (in[1].shape == shape) return {};  // probabilities
  ClassNumbers numbers{.input = 1, .classes = in[0].size() / std::max<int64_t>(shape[0], 1)};
  if (p.multi_output) numbers.classes = shape[1];
  if (p.preserve_shape && !p.multi_output) numbers.classes = shape[shape.ndim() - 1];
  if (p.use_ignore) numbers.ignored = p.ignore_label;
  return numbers;
}

}  // namespace

void register_softmax_output(OpTable& table) {
  add_loss(table, "SoftmaxOutput", infer_forward)
      .doc("The softmax of the data, whose gradient is that of the cross entropy with the label.")
      .aliases({"Softmax"})
      .element_cost(1)
      .class_numbers(labels);
  table.refine<Params>("_backward_SoftmaxOutput").class_numbers(labels);
  table.add<NoParams>("softmax_cross_entropy", {"data", "label"})
      .doc("The sum over a batch of the cross entropies between the softmax of the data and the labels.")
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        s.expect(0, s.in(0).ndim() == 2, "2 axes");
        if (s.in(0).ndim_known()) s.set_in(1, Shape{s.in(0)[0]});
        s.set_out(0, Shape{1});
      })
      .infer_type(infer_loss_type<NoParams>)
      .types(kFloatingTypes)
      .input_types(1, kNumericTypes)
      .class_numbers([](const NoParams&, std::span<const TensorView> in) {
        return ClassNumbers{.input = 1, .classes = in[0].shape[1]};
      })
      .gradient_op("_backward_softmax_cross_entropy", {head(0), input(0), input(1)});
  table.add_hidden<NoParams>("_backward_softmax_cross_entropy", {"grad", "data", "label"})
      .shape_of(1)
      .infer_type([](const NoParams&, TypeInfer& t) {
        t.tie({0, 1}, {});
        t.set_out(0, t.in(1));
      })
      .types(kFloatingTypes)
      .input_types(2, kNumericTypes)
      .class_numbers([](const NoParams&, std::span<const TensorView> in) {
        return ClassNumbers{.input = 2, .classes = in[1].shape[1]};
      });
}

}  // namespace loomix::ops
