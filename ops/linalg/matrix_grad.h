// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/grad_expr.h"

// What gradients of matrix operators are written in.
namespace loomix::ops {

inline std::string attr_text(bool on) { return on ? "1" : "0"; }
inline std::string attr_text(double number) { return fmt::format("{}", number); }

// A matrix of the gradient's graph; each operation adds a node.
class MatrixExpr {
 public:
  MatrixExpr(GradBuilder& builder, GradValue value) : g_(&builder), value_(value) {}
  operator GradValue() const { return value_; }

  // alpha op(this) op(b)
  MatrixExpr times(MatrixExpr b, bool transpose_a = false, bool transpose_b = false, double alpha = 1) const {
    return node("_linalg_gemm2", {value_, b.value_},
                {{"transpose_a", attr_text(transpose_a)},
                 {"transpose_b", attr_text(transpose_b)},
                 {"alpha", attr_text(alpha)}});
  }
  MatrixExpr transposed() const { return node("SwapAxis", {value_}, {{"dim1", "-1"}, {"dim2", "-2"}}); }
  MatrixExpr with_transpose() const { return *this + transposed(); }
  MatrixExpr part(const char* which) const {
    return node("_linalg_triangle_part", {value_}, {{"part", which}});
  }
  // op(L)^-1 this, or this op(L)^-1, for a lower triangular L.
  MatrixExpr solved(MatrixExpr lower, bool transpose, bool rightside) const {
    return node("_linalg_trsm", {lower.value_, value_},
                {{"transpose", attr_text(transpose)}, {"rightside", attr_text(rightside)}});
  }
  // Each matrix times its number of the batch.
  MatrixExpr scaled(GradValue numbers) const { return node("_linalg_scale", {value_, numbers}); }
  MatrixExpr times_number(double number) const {
    return node("_mul_scalar", {value_}, {{"scalar", attr_text(number)}});
  }
  friend MatrixExpr operator+(MatrixExpr a, MatrixExpr b) {
    return a.node("elemwise_add", {a.value_, b.value_});
  }

  MatrixExpr node(const char* op, std::initializer_list<GradValue> inputs, TextPairs attrs = {}) const {
    return {*g_, g_->call1(op, inputs, std::move(attrs))};
  }

 private:
  GradBuilder* g_;
  GradValue value_;
};

}  // namespace loomix::ops
