// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/grad_builder.h"

// Operators linear in each of their first two inputs. With f(a, b) come two more, for its gradients: fa(g, b, a) is
// shaped like a and fb(g, a, b) like b; of their third input only the shape is used. The three are closed under
// differentiation, so every order of gradient is a graph of them.
namespace loomix::ops {

struct Bilinear {
  const char* f;
  const char* fa;
  const char* fb;
};

inline GradValue call_with(GradBuilder& g, const char* op, std::initializer_list<GradValue> inputs) {
  return g.call(op, std::span(inputs.begin(), inputs.size()), g.attrs())[0];
}

// The gradient of f(a, b).
inline void bilinear_gradient(const Bilinear& ops, GradBuilder& g) {
  if (g.wants(0)) g.set(0, call_with(g, ops.fa, {g.grad_of(0), g.in(1), g.in(0)}));
  if (g.wants(1)) g.set(1, call_with(g, ops.fb, {g.grad_of(0), g.in(0), g.in(1)}));
}

// Of fa(g, b, a). `attrs` are those of f without further inputs.
inline void bilinear_gradient_a(const Bilinear& ops, GradBuilder& g, const TextPairs& attrs) {
  const GradValue head = g.grad_of(0);
  if (g.wants(0)) g.set(0, g.call1(ops.f, {head, g.in(1)}, attrs));
  if (g.wants(1)) g.set(1, call_with(g, ops.fb, {g.in(0), head, g.in(1)}));
}

// Of fb(g, a, b).
inline void bilinear_gradient_b(const Bilinear& ops, GradBuilder& g, const TextPairs& attrs) {
  const GradValue head = g.grad_of(0);
  if (g.wants(0)) g.set(0, g.call1(ops.f, {g.in(1), head}, attrs));
  if (g.wants(1)) g.set(1, call_with(g, ops.fa, {g.in(0), head, g.in(1)}));
}

// The attributes that were given, with no_bias on.
inline TextPairs without_bias(const AttrsBase& attrs) {
  TextPairs texts;
  for (const auto& pair : attrs.given()) {
    if (pair.first != "no_bias") texts.push_back(pair);
  }
  texts.emplace_back("no_bias", "1");
  return texts;
}

}  // namespace loomix::ops
