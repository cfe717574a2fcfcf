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

// Output 0 has the type of input 0; other inputs have their own.
template <class P>
void type_of_first(const P&, TypeInfer& t) {
  t.set_out(0, t.in(0));
  t.set_in(0, t.out(0));
}

// (data, like): the output has the shape of `like`.
template <class P>
void shape_of_second(const P&, ShapeInfer& s) {
  s.set_out(0, s.in(1));
  s.set_in(1, s.out(0));
}

}  // namespace loomix::ops
