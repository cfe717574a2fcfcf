// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/infer.h"

// Inference rules that many operators share, for OpBuilder::infer_shape and infer_type.
namespace loomix::ops {

template <class P>
void same_shape(const P&, ShapeInfer& s) {
  s.unify_all();
}

template <class P>
void same_type(const P&, TypeInfer& t) {
  t.unify_all();
}

}  // namespace loomix::ops
