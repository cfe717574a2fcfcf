// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numbers>
#include <tuple>

#include "ops/elemwise/loops.h"
#include "ops/elemwise/op_list.h"
#include "ops/elemwise/unary_functors.h"

// The unary operators, a line each: enum, loops of every instruction set, kernels and schemas are made of this list.
namespace loomix::ops {

template <class F, class Gradient>
struct UnaryOp {
  using Functor = F;
  const char* name;
  const char* alias;  // "" for none
  double element_ns;  // on one core; 0 where memory bounds it
  Gradient gradient;  // its derivative times g, from the input x and the output y
  const char* doc;
};

template <class F, class Gradient>
constexpr UnaryOp<F, Gradient> unary(const char* name, const char* alias, double element_ns,
                                     Gradient gradient, const char* doc) {
  return {name, alias, element_ns, gradient, doc};
}

inline constexpr std::tuple kUnaryOps{
    unary<fn::Abs>(
        "abs", "_sparse_abs", 0, [](auto g, auto x, auto) { return g.call("_backward_abs", x); },
        "Absolute value of each element."),
    unary<fn::Arccos>(
        "arccos", "_sparse_arccos", 0.5,
        [](auto g, auto x, auto) { return -(g * (1.0 - x.call("square")).call("rsqrt")); },
        "Inverse cosine."),
    unary<fn::Arccosh>(
        "arccosh", "_sparse_arccosh", 1,
        [](auto g, auto x, auto) { return g * (x.call("square") + -1.0).call("rsqrt"); },
        "Inverse hyperbolic cosine."),
    unary<fn::Arcsin>(
        "arcsin", "_sparse_arcsin", 0.5,
        [](auto g, auto x, auto) { return g * (1.0 - x.call("square")).call("rsqrt"); }, "Inverse sine."),
    unary<fn::Arcsinh>(
        "arcsinh", "_sparse_arcsinh", 1,
        [](auto g, auto x, auto) { return g * (x.call("square") + 1.0).call("rsqrt"); },
        "Inverse hyperbolic sine."),
    unary<fn::Arctan>(
        "arctan", "_sparse_arctan", 0.5, [](auto g, auto x, auto) { return g / (x.call("square") + 1.0); },
        "Inverse tangent."),
    unary<fn::Arctanh>(
        "arctanh", "_sparse_arctanh", 1, [](auto g, auto x, auto) { return g / (1.0 - x.call("square")); },
        "Inverse hyperbolic tangent."),
    unary<fn::Cbrt>(
        "cbrt", "_sparse_cbrt", 0.5, [](auto g, auto, auto y) { return g / (y.call("square") * 3.0); },
        "Cube root."),
    unary<fn::Ceil>("ceil", "_sparse_ceil", 0, kZeroGradient, "Rounds up to an integer."),
    unary<fn::Cos>(
        "cos", "_sparse_cos", 0.5, [](auto g, auto x, auto) { return -(g * x.call("sin")); }, "Cosine."),
    unary<fn::Cosh>(
        "cosh", "_sparse_cosh", 0.5, [](auto g, auto x, auto) { return g * x.call("sinh"); },
        "Hyperbolic cosine."),
    unary<fn::Degrees>(
        "degrees", "_sparse_degrees", 0, [](auto g, auto, auto) { return g * (180 / special::kPi); },
        "Converts radians to degrees."),
    unary<fn::Erf>(
        "erf", "", 0.5,
        [](auto g, auto x, auto) { return g * (-x.call("square")).call("exp") * (2 / special::kSqrtPi); },
        "Error function."),
    unary<fn::Erfinv>(
        "erfinv", "", 60,
        [](auto g, auto, auto y) { return g * y.call("square").call("exp") * (special::kSqrtPi / 2); },
        "Inverse of the error function."),
    unary<fn::Exp>(
        "exp", "_sparse_exp", 0.2, [](auto g, auto, auto y) { return g * y; }, "Exponential."),
    unary<fn::Expm1>(
        "expm1", "_sparse_expm1", 0.5, [](auto g, auto, auto y) { return g * (y + 1.0); },
        "exp(data) - 1, exact near zero."),
    unary<fn::Trunc>("fix", "_sparse_fix", 0, kZeroGradient, "Rounds towards zero."),
    unary<fn::Floor>("floor", "_sparse_floor", 0, kZeroGradient, "Rounds down to an integer."),
    unary<fn::Gamma>(
        "gamma", "_sparse_gamma", 30, [](auto g, auto x, auto y) { return g * y * x.call("_digamma"); },
        "Gamma function."),
    unary<fn::Gammaln>(
        "gammaln", "_sparse_gammaln", 20, [](auto g, auto x, auto) { return g * x.call("_digamma"); },
        "Logarithm of the absolute value of the gamma function."),
    unary<fn::Log>(
        "log", "_sparse_log", 0.3, [](auto g, auto x, auto) { return g / x; }, "Natural logarithm."),
    unary<fn::Log10>(
        "log10", "_sparse_log10", 0.4, [](auto g, auto x, auto) { return g / (x * std::numbers::ln10); },
        "Logarithm to base 10."),
    unary<fn::Log1p>(
        "log1p", "_sparse_log1p", 0.5, [](auto g, auto x, auto) { return g / (x + 1.0); },
        "log(1 + data), exact near zero."),
    unary<fn::Log2>(
        "log2", "_sparse_log2", 0.4, [](auto g, auto x, auto) { return g / (x * std::numbers::ln2); },
        "Logarithm to base 2."),
    unary<fn::LogicalNot>("logical_not", "", 0, kZeroGradient, "1 where data is zero, else 0."),
    unary<fn::Negative>(
        "negative", "_sparse_negative", 0, [](auto g, auto, auto) { return -g; }, "Changes the sign."),
    unary<fn::Radians>(
        "radians", "_sparse_radians", 0, [](auto g, auto, auto) { return g * (special::kPi / 180); },
        "Converts degrees to radians."),
    unary<fn::Rcbrt>(
        "rcbrt", "", 0.5, [](auto g, auto x, auto y) { return g * (y / x) * (-1.0 / 3); },
        "Reciprocal of the cube root."),
    unary<fn::Reciprocal>(
        "reciprocal", "", 0, [](auto g, auto, auto y) { return -(g * y.call("square")); }, "1 / data."),
    unary<fn::Relu>(
        "relu", "_sparse_relu", 0, [](auto g, auto, auto y) { return g.call("_backward_relu", y); },
        "max(data, 0)."),
    unary<fn::Rint>("rint", "_sparse_rint", 0, kZeroGradient, "Rounds to the nearest integer, halves down."),
    unary<fn::Round>("round", "_sparse_round", 0, kZeroGradient,
                     "Rounds to the nearest integer, halves away from zero."),
    unary<fn::Rsqrt>(
        "rsqrt", "_sparse_rsqrt", 0.1, [](auto g, auto x, auto y) { return g * (y / x) * -0.5; },
        "Reciprocal of the square root."),
    unary<fn::Sigmoid>(
        "sigmoid", "_sparse_sigmoid", 0.3,
        [](auto g, auto, auto y) { return g.call("_backward_sigmoid", y); }, "1 / (1 + exp(-data))."),
    unary<fn::Sign>("sign", "_sparse_sign", 0, kZeroGradient,
                    "-1, 0 or 1 for negative, zero and positive elements."),
    unary<fn::Sin>(
        "sin", "_sparse_sin", 0.5, [](auto g, auto x, auto) { return g * x.call("cos"); }, "Sine."),
    unary<fn::Sinh>(
        "sinh", "_sparse_sinh", 0.5, [](auto g, auto x, auto) { return g * x.call("cosh"); },
        "Hyperbolic sine."),
    unary<fn::Softsign>(
        "softsign", "", 0, [](auto g, auto x, auto) { return g.call("_backward_softsign", x); },
        "data / (1 + abs(data))."),
    unary<fn::Sqrt>(
        "sqrt", "_sparse_sqrt", 0, [](auto g, auto, auto y) { return g / y * 0.5; }, "Square root."),
    unary<fn::Square>(
        "square", "_sparse_square", 0, [](auto g, auto x, auto) { return g.call("_backward_square", x); },
        "data * data."),
    unary<fn::Tan>(
        "tan", "_sparse_tan", 0.7, [](auto g, auto, auto y) { return g * (y.call("square") + 1.0); },
        "Tangent."),
    unary<fn::Tanh>(
        "tanh", "_sparse_tanh", 0.4, [](auto g, auto, auto y) { return g.call("_backward_tanh", y); },
        "Hyperbolic tangent."),
    unary<fn::Trunc>("trunc", "_sparse_trunc", 0, kZeroGradient, "Rounds towards zero."),
    // Parts of gradients and of other operators, which have no doc string, are hidden.
    unary<fn::Digamma>(
        "_digamma", "", 20, [](auto g, auto x, auto) { return g * x.call("_trigamma"); }, ""),
    unary<fn::NotNan>("_not_nan", "", 0, kZeroGradient, ""),
    unary<fn::Softrelu>(
        "_softrelu", "", 0.7, [](auto g, auto x, auto) { return g * x.call("sigmoid"); }, ""),
    unary<fn::Trigamma>("_trigamma", "", 20, kNoGradient, "")};

using UnaryFunctors = decltype(functors_of(kUnaryOps));

template <class F>
inline constexpr Unary unary_code = static_cast<Unary>(place_of<F>(UnaryFunctors{}));

}  // namespace loomix::ops
