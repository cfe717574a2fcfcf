// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <fmt/format.h>

#include "ops/grad_builder.h"

namespace loomix::ops {

// A value of the gradient's graph with arithmetic, so that rules read like formulas: `g * cos(x)`. Each operation adds
// one node; shapes must be equal.
class GradExpr {
 public:
  GradExpr(GradBuilder& builder, GradValue value) : builder_(&builder), value_(value) {}
  GradValue value() const { return value_; }
  operator GradValue() const { return value_; }

  GradExpr call(std::string_view op) const { return {*builder_, builder_->call1(op, {value_})}; }
  GradExpr call(std::string_view op, double scalar) const {
    return {*builder_, builder_->call1(op, {value_}, {{"scalar", fmt::format("{}", scalar)}})};
  }
  GradExpr call(std::string_view op, GradExpr other) const {
    return {*builder_, builder_->call1(op, {value_, other.value_})};
  }

  friend GradExpr operator+(GradExpr a, GradExpr b) { return a.call("elemwise_add", b); }
  friend GradExpr operator-(GradExpr a, GradExpr b) { return a.call("elemwise_sub", b); }
  friend GradExpr operator*(GradExpr a, GradExpr b) { return a.call("elemwise_mul", b); }
  friend GradExpr operator/(GradExpr a, GradExpr b) { return a.call("elemwise_div", b); }
  friend GradExpr operator+(GradExpr a, double b) { return a.call("_plus_scalar", b); }
  friend GradExpr operator-(double a, GradExpr b) { return b.call("_rminus_scalar", a); }
  friend GradExpr operator*(GradExpr a, double b) { return a.call("_mul_scalar", b); }
  friend GradExpr operator/(double a, GradExpr b) { return b.call("_rdiv_scalar", a); }
  friend GradExpr operator-(GradExpr a) { return a.call("negative"); }

 private:
  GradBuilder* builder_;
  GradValue value_;
};

// d(output)/d(input) times g, from the input x and the output y.
using UnaryGrad = GradExpr (*)(GradExpr g, GradExpr x, GradExpr y);

}  // namespace loomix::ops
