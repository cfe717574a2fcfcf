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
  const char* doc;
  Gradient gradient;  // its derivative times g, from the input x and the output y
};

template <class F, class Gradient>
constexpr UnaryOp<F, Gradient> unary(const char* name, const char* alias, double element_ns, const char* doc,
                                     Gradient gradient) {
  return {name, alias, element_ns, doc, gradient};
}

inline constexpr std::tuple kUnaryOps{
    unary<fn::Abs>("abs", "_sparse_abs", 0, "Absolute value of each element.",
                   [](auto g, auto x, auto) { return g.call("_backward_abs", x); }),
    unary<fn::Arccos>("arccos", "_sparse_arccos", 0.5, "Inverse cosine.",
                      [](auto g, auto x, auto) { return -(g * (1.0 - x.call("square")).call("rsqrt")); }),
    unary<fn::Arccosh>("arccosh", "_sparse_arccosh", 1, "Inverse hyperbolic cosine.",
                       [](auto g, auto x, auto) { return g * (x.call("square") + -1.0).call("rsqrt"); }),
    unary<fn::Arcsin>("arcsin", "_sparse_arcsin", 0.5, "Inverse sine.",
                      [](auto g, auto x, auto) { return g * (1.0 - x.call("square")).call("rsqrt"); }),
    unary<fn::Arcsinh>("arcsinh", "_sparse_arcsinh", 1, "Inverse hyperbolic sine.",
                       [](auto g, auto x, auto) { return g * (x.call("square") + 1.0).call("rsqrt"); }),
    unary<fn::Arctan>("arctan", "_sparse_arctan", 0.5, "Inverse tangent.",
                      [](auto g, auto x, auto) { return g / (x.call("square") + 1.0); }),
    unary<fn::Arctanh>("arctanh", "_sparse_arctanh", 1, "Inverse hyperbolic tangent.",
                       [](auto g, auto x, auto) { return g / (1.0 - x.call("square")); }),
    unary<fn::Cbrt>("cbrt", "_sparse_cbrt", 0.5, "Cube root.",
                    [](auto g, auto, auto y) { return g / (y.call("square") * 3.0); }),
    unary<fn::Ceil>("ceil", "_sparse_ceil", 0, "Rounds up to an integer.", kZeroGradient),
    unary<fn::Cos>("cos", "_sparse_cos", 0.5, "Cosine.",
                   [](auto g, auto x, auto) { return -(g * x.call("sin")); }),
    unary<fn::Cosh>("cosh", "_sparse_cosh", 0.5, "Hyperbolic cosine.",
                    [](auto g, auto x, auto) { return g * x.call("sinh"); }),
    unary<fn::Degrees>("degrees", "_sparse_degrees", 0, "Converts radians to degrees.",
                       [](auto g, auto, auto) { return g * (180 / special::kPi); }),
    unary<fn::Erf>(
        "erf", "", 0.5, "Error function.",
        [](auto g, auto x, auto) { return g * (-x.call("square")).call("exp") * (2 / special::kSqrtPi); }),
    unary<fn::Erfinv>(
        "erfinv", "", 60, "Inverse of the error function.",
        [](auto g, auto, auto y) { return g * y.call("square").call("exp") * (special::kSqrtPi / 2); }),
    unary<fn::Exp>("exp", "_sparse_exp", 0.2, "Exponential.", [](auto g, auto, auto y) { return g * y; }),
    unary<fn::Expm1>("expm1", "_sparse_expm1", 0.5, "exp(data) - 1, exact near zero.",
                     [](auto g, auto, auto y) { return g * (y + 1.0); }),
    unary<fn::Trunc>("fix", "_sparse_fix", 0, "Rounds towards zero.", kZeroGradient),
    unary<fn::Floor>("floor", "_sparse_floor", 0, "Rounds down to an integer.", kZeroGradient),
    unary<fn::Gamma>("gamma", "_sparse_gamma", 30, "Gamma function.",
                     [](auto g, auto x, auto y) { return g * y * x.call("_digamma"); }),
    unary<fn::Gammaln>("gammaln", "_sparse_gammaln", 20,
                       "Logarithm of the absolute value of the gamma function.",
                       [](auto g, auto x, auto) { return g * x.call("_digamma"); }),
    unary<fn::Log>("log", "_sparse_log", 0.3, "Natural logarithm.",
                   [](auto g, auto x, auto) { return g / x; }),
    unary<fn::Log10>("log10", "_sparse_log10", 0.4, "Logarithm to base 10.",
                     [](auto g, auto x, auto) { return g / (x * std::numbers::ln10); }),
    unary<fn::Log1p>("log1p", "_sparse_log1p", 0.5, "log(1 + data), exact near zero.",
                     [](auto g, auto x, auto) { return g / (x + 1.0); }),
    unary<fn::Log2>("log2", "_sparse_log2", 0.4, "Logarithm to base 2.",
                    [](auto g, auto x, auto) { return g / (x * std::numbers::ln2); }),
    unary<fn::LogicalNot>("logical_not", "", 0, "1 where data is zero, else 0.", kZeroGradient),
    unary<fn::Negative>("negative", "_sparse_negative", 0, "Changes the sign.",
                        [](auto g, auto, auto) { return -g; }),
    unary<fn::Radians>("radians", "_sparse_radians", 0, "Converts degrees to radians.",
                       [](auto g, auto, auto) { return g * (special::kPi / 180); }),
    unary<fn::Rcbrt>("rcbrt", "", 0.5, "Reciprocal of the cube root.",
                     [](auto g, auto x, auto y) { return g * (y / x) * (-1.0 / 3); }),
    unary<fn::Reciprocal>("reciprocal", "", 0, "1 / data.",
                          [](auto g, auto, auto y) { return -(g * y.call("square")); }),
    unary<fn::Relu>("relu", "_sparse_relu", 0, "max(data, 0).",
                    [](auto g, auto, auto y) { return g.call("_backward_relu", y); }),
    unary<fn::Rint>("rint", "_sparse_rint", 0, "Rounds to the nearest integer, halves down.", kZeroGradient),
    unary<fn::Round>("round", "_sparse_round", 0, "Rounds to the nearest integer, halves away from zero.",
                     kZeroGradient),
    unary<fn::Rsqrt>("rsqrt", "_sparse_rsqrt", 0.1, "Reciprocal of the square root.",
                     [](auto g, auto x, auto y) { return g * (y / x) * -0.5; }),
    unary<fn::Sigmoid>("sigmoid", "_sparse_sigmoid", 0.3, "1 / (1 + exp(-data)).",
                       [](auto g, auto, auto y) { return g.call("_backward_sigmoid", y); }),
    unary<fn::Sign>("sign", "_sparse_sign", 0, "-1, 0 or 1 for negative, zero and positive elements.",
                    kZeroGradient),
    unary<fn::Sin>("sin", "_sparse_sin", 0.5, "Sine.",
                   [](auto g, auto x, auto) { return g * x.call("cos"); }),
    unary<fn::Sinh>("sinh", "_sparse_sinh", 0.5, "Hyperbolic sine.",
                    [](auto g, auto x, auto) { return g * x.call("cosh"); }),
    unary<fn::Softsign>("softsign", "", 0, "data / (1 + abs(data)).",
                        [](auto g, auto x, auto) { return g.call("_backward_softsign", x); }),
    unary<fn::Sqrt>("sqrt", "_sparse_sqrt", 0, "Square root.",
                    [](auto g, auto, auto y) { return g / y * 0.5; }),
    unary<fn::Square>("square", "_sparse_square", 0, "data * data.",
                      [](auto g, auto x, auto) { return g.call("_backward_square", x); }),
    unary<fn::Tan>("tan", "_sparse_tan", 0.7, "Tangent.",
                   [](auto g, auto, auto y) { return g * (y.call("square") + 1.0); }),
    unary<fn::Tanh>("tanh", "_sparse_tanh", 0.4, "Hyperbolic tangent.",
                    [](auto g, auto, auto y) { return g.call("_backward_tanh", y); }),
    unary<fn::Trunc>("trunc", "_sparse_trunc", 0, "Rounds towards zero.", kZeroGradient),
    // Parts of gradients and of other operators, which have no doc string, are hidden.
    unary<fn::Digamma>("_digamma", "", 20, "", [](auto g, auto x, auto) { return g * x.call("_trigamma"); }),
    unary<fn::NotNan>("_not_nan", "", 0, "", kZeroGradient),
    unary<fn::Softrelu>("_softrelu", "", 0.7, "", [](auto g, auto x, auto) { return g * x.call("sigmoid"); }),
    unary<fn::Trigamma>("_trigamma", "", 20, "", kNoGradient)};

using UnaryFunctors = decltype(functors_of(kUnaryOps));

template <class F>
inline constexpr Unary unary_code = static_cast<Unary>(place_of<F>(UnaryFunctors{}));

}  // namespace loomix::ops
