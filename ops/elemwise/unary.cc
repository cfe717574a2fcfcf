// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "ops/elemwise/elemwise.h"
#include "ops/grad_expr.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kLn2 = std::numbers::ln2;
constexpr double kLn10 = std::numbers::ln10;
constexpr UnaryGrad kZero = nullptr;

struct UnaryOp {
  const char* name;
  bool sparse_alias;   // also called _sparse_<name>
  double element_ns;   // on one core; 0 where memory bounds it
  UnaryGrad gradient;  // kZero: zero everywhere
  const char* doc;
};

using E = GradExpr;

const UnaryOp kUnaryOps[] = {
    {"abs", true, 0, [](E g, E x, E) { return g.call("_backward_abs", x); },
     "Absolute value of each element."},
    {"arccos", true, 0.5, [](E g, E x, E) { return -(g * (1.0 - x.call("square")).call("rsqrt")); },
     "Inverse cosine."},
    {"arccosh", true, 1, [](E g, E x, E) { return g * (x.call("square") + -1.0).call("rsqrt"); },
     "Inverse hyperbolic cosine."},
    {"arcsin", true, 0.5, [](E g, E x, E) { return g * (1.0 - x.call("square")).call("rsqrt"); },
     "Inverse sine."},
    {"arcsinh", true, 1, [](E g, E x, E) { return g * (x.call("square") + 1.0).call("rsqrt"); },
     "Inverse hyperbolic sine."},
    {"arctan", true, 0.5, [](E g, E x, E) { return g / (x.call("square") + 1.0); }, "Inverse tangent."},
    {"arctanh", true, 1, [](E g, E x, E) { return g / (1.0 - x.call("square")); },
     "Inverse hyperbolic tangent."},
    {"cbrt", true, 0.5, [](E g, E, E y) { return g / (y.call("square") * 3.0); }, "Cube root."},
    {"ceil", true, 0, kZero, "Rounds up to an integer."},
    {"cos", true, 0.5, [](E g, E x, E) { return -(g * x.call("sin")); }, "Cosine."},
    {"cosh", true, 0.5, [](E g, E x, E) { return g * x.call("sinh"); }, "Hyperbolic cosine."},
    {"degrees", true, 0, [](E g, E, E) { return g * (180 / kPi); }, "Converts radians to degrees."},
    {"erf", false, 0.5,
     [](E g, E x, E) { return g * (-x.call("square")).call("exp") * (2 / std::sqrt(kPi)); },
     "Error function."},
    {"erfinv", false, 60, [](E g, E, E y) { return g * y.call("square").call("exp") * (std::sqrt(kPi) / 2); },
     "Inverse of the error function."},
    {"exp", true, 0.2, [](E g, E, E y) { return g * y; }, "Exponential."},
    {"expm1", true, 0.5, [](E g, E, E y) { return g * (y + 1.0); }, "exp(data) - 1, exact near zero."},
    {"fix", true, 0, kZero, "Rounds towards zero."},
    {"floor", true, 0, kZero, "Rounds down to an integer."},
    {"gamma", true, 30, [](E g, E x, E y) { return g * y * x.call("_digamma"); }, "Gamma function."},
    {"gammaln", true, 20, [](E g, E x, E) { return g * x.call("_digamma"); },
     "Logarithm of the absolute value of the gamma function."},
    {"log", true, 0.3, [](E g, E x, E) { return g / x; }, "Natural logarithm."},
    {"log10", true, 0.4, [](E g, E x, E) { return g / (x * kLn10); }, "Logarithm to base 10."},
    {"log1p", true, 0.5, [](E g, E x, E) { return g / (x + 1.0); }, "log(1 + data), exact near zero."},
    {"log2", true, 0.4, [](E g, E x, E) { return g / (x * kLn2); }, "Logarithm to base 2."},
    {"logical_not", false, 0, kZero, "1 where data is zero, else 0."},
    {"negative", true, 0, [](E g, E, E) { return -g; }, "Changes the sign."},
    {"radians", true, 0, [](E g, E, E) { return g * (kPi / 180); }, "Converts degrees to radians."},
    {"rcbrt", false, 0.5, [](E g, E x, E y) { return g * (y / x) * (-1.0 / 3); },
     "Reciprocal of the cube root."},
    {"reciprocal", false, 0, [](E g, E, E y) { return -(g * y.call("square")); }, "1 / data."},
    {"relu", true, 0, [](E g, E, E y) { return g.call("_backward_relu", y); }, "max(data, 0)."},
    {"rint", true, 0, kZero, "Rounds to the nearest integer, halves down."},
    {"round", true, 0, kZero, "Rounds to the nearest integer, halves away from zero."},
    {"rsqrt", true, 0.1, [](E g, E x, E y) { return g * (y / x) * -0.5; }, "Reciprocal of the square root."},
    {"sigmoid", true, 0.3, [](E g, E, E y) { return g.call("_backward_sigmoid", y); },
     "1 / (1 + exp(-data))."},
    {"sign", true, 0, kZero, "-1, 0 or 1 for negative, zero and positive elements."},
    {"sin", true, 0.5, [](E g, E x, E) { return g * x.call("cos"); }, "Sine."},
    {"sinh", true, 0.5, [](E g, E x, E) { return g * x.call("cosh"); }, "Hyperbolic sine."},
    {"softsign", false, 0, [](E g, E x, E) { return g.call("_backward_softsign", x); },
     "data / (1 + abs(data))."},
    {"sqrt", true, 0, [](E g, E, E y) { return g / y * 0.5; }, "Square root."},
    {"square", true, 0, [](E g, E x, E) { return g.call("_backward_square", x); }, "data * data."},
    {"tan", true, 0.7, [](E g, E, E y) { return g * (y.call("square") + 1.0); }, "Tangent."},
    {"tanh", true, 0.4, [](E g, E, E y) { return g.call("_backward_tanh", y); }, "Hyperbolic tangent."},
    {"trunc", true, 0, kZero, "Rounds towards zero."},
};

// Parts of gradients and of other operators.
const UnaryOp kHiddenOps[] = {
    {"_digamma", false, 20, [](E g, E x, E) { return g * x.call("_trigamma"); }, ""},
    {"_not_nan", false, 0, kZero, ""},
    {"_softrelu", false, 0.7, [](E g, E x, E) { return g * x.call("sigmoid"); }, ""},
};

OpBuilder<NoParams> add_unary(OpTable& table, const UnaryOp& op) {
  auto builder = table.add<NoParams>(op.name);
  builder.doc(op.doc)
      .input("data")
      .output("output")
      .infer_shape(same_shape<NoParams>)
      .infer_type(same_type<NoParams>)
      .inplace(0, 0)
      .element_cost(op.element_ns);
  if (op.gradient == kZero) {
    builder.zero_gradient();
  } else {
    builder.gradient_by([gradient = op.gradient](const AttrsBase&, GradBuilder& g) {
      g.set(0, gradient({g, g.grad_of(0)}, {g, g.in(0)}, {g, g.out(0)}));
    });
  }
  return builder;
}

}  // namespace

void register_unary(OpTable& table) {
  for (const UnaryOp& op : kUnaryOps) {
    auto builder = add_unary(table, op);
    if (op.sparse_alias) builder.aliases({std::string("_sparse_") + op.name});
  }
  for (const UnaryOp& op : kHiddenOps) add_unary(table, op).hidden();
  table.add<NoParams>("_trigamma")
      .hidden()
      .input("data")
      .output("output")
      .infer_shape(same_shape<NoParams>)
      .infer_type(same_type<NoParams>)
      .inplace(0, 0)
      .element_cost(20);
}

}  // namespace loomix::ops
