// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ops/table.h"

namespace loomix::ops {

// The output has the type of the data; so has the label where nothing else is known of it.
template <class P>
void infer_loss_type(const P&, TypeInfer& t) {
  t.tie({0});
  t.default_in(1, t.in(0));
  if (t.num_in() > 2) t.set_in(2, t.in(0));
}

// A loss of data and label: what goes forward, with the gradient (output, label) -> gradient of the data, which heads do not
// reach. Both have one shape rule, since the output is like the data.
template <class P>
OpBuilder<P> add_loss(OpTable& table, const std::string& name, void (*shape)(const P&, ShapeInfer&)) {
  const std::string backward = "_backward_" + name;
  auto loss = table.add<P>(name, {"data", "label"});
  auto gradient = table.add_hidden<P>(backward, {"output", "label"});
  for (OpBuilder<P>* op : {&loss, &gradient}) {
    op->infer_shape(shape).infer_type(infer_loss_type<P>).types(kFloatingTypes).input_types(1, kNumericTypes);
    op->inplace(0, 0);
  }
  return loss.loss().gradient_op(backward, {output(0), input(1)});
}

}  // namespace loomix::ops
