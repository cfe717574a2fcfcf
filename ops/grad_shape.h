// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/infer.h"

namespace loomix::ops {

// Of (grad, inputs ...), the operator of a gradient: grad has the shape of the output that `rule`, the forward one, gives.
template <class P>
void grad_like_output(const P& p, ShapeInfer& s, void (*rule)(const P&, ShapeInfer&), int inputs = -1) {
  std::vector<Shape> in;
  for (int i = 1; i < s.num_in() && i != inputs + 1; ++i) in.push_back(s.in(i));
  Shape out = Shape::unknown();
  ShapeInfer forward(s.op(), in, std::span(&out, 1));
  rule(p, forward);
  s.set_in(0, out);
}

}  // namespace loomix::ops
