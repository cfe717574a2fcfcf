// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/infer.h"

namespace loomix::ops {

class OpTable;
void register_softmax_output(OpTable& table);
void register_regression_output(OpTable& table);

// The output has the type of the data; so has the label where nothing else is known of it.
template <class P>
void infer_loss_type(const P&, TypeInfer& t) {
  t.set_out(0, t.in(0));
  t.set_in(0, t.out(0));
  if (t.in(1) == DType::unknown) t.set_in(1, t.in(0));
  if (t.num_in() > 2) t.set_in(2, t.in(0));
}

}  // namespace loomix::ops
