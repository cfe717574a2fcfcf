// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <tuple>

#include "ops/elemwise/binary_functors.h"
#include "ops/elemwise/loops.h"
#include "ops/elemwise/op_list.h"

// The operators on an array and a number, a line each: their kernels, loops and schemas are made of this list.
namespace loomix::ops {

struct ScalarParams;    // of elemwise.h: the number
struct SmoothL1Params;  // the same, by another schema

template <class F, Spread side, class P, class Gradient>
struct ScalarOp {
  using Functor = F;
  using Params = P;
  static constexpr Spread kSide = side;  // where the number stands
  const char* name;
  const char* alias;  // "" for none
  double element_ns;  // on one core; 0 where memory bounds it
  const char* doc;    // "": hidden
  Gradient gradient;  // its derivative times g, from the input x, the output y and the number
};

template <class F, Spread side, class P = ScalarParams, class Gradient>
constexpr ScalarOp<F, side, P, Gradient> scalar(const char* name, const char* alias, double element_ns,
                                                const char* doc, Gradient gradient) {
  return {name, alias, element_ns, doc, gradient};
}

inline constexpr auto kScalarPass = [](auto g, auto, auto, double) { return g; };

inline constexpr std::tuple kScalarOps{
    scalar<fn::Add, Spread::right>("_plus_scalar", "_PlusScalar", 0, "data + scalar.", kScalarPass),
    scalar<fn::Sub, Spread::right>("_minus_scalar", "_MinusScalar", 0, "data - scalar.", kScalarPass),
    scalar<fn::Sub, Spread::left>("_rminus_scalar", "_RMinusScalar", 0, "scalar - data.",
                                  [](auto g, auto, auto, double) { return -g; }),
    scalar<fn::Mul, Spread::right>("_mul_scalar", "_MulScalar", 0, "data * scalar.",
                                   [](auto g, auto, auto, double s) { return g * s; }),
    scalar<fn::Div, Spread::right>("_div_scalar", "_DivScalar", 0, "data / scalar.",
                                   [](auto g, auto, auto, double s) { return g.call("_div_scalar", s); }),
    scalar<fn::Div, Spread::left>("_rdiv_scalar", "_RDivScalar", 0, "scalar / data.",
                                  [](auto g, auto x, auto y, double) { return -(g * (y / x)); }),
    scalar<fn::Mod, Spread::right>("_mod_scalar", "_ModScalar", 4,
                                   "Remainder of data / scalar; it has the sign of scalar.", kScalarPass),
    scalar<fn::Mod, Spread::left>(
        "_rmod_scalar", "_RModScalar", 4, "Remainder of scalar / data; it has the sign of data.",
        [](auto g, auto x, auto, double s) { return -(g * (s / x).call("floor")); }),
    scalar<fn::Power, Spread::right>(
        "_power_scalar", "_PowerScalar", 1, "data to the power of scalar.",
        [](auto g, auto x, auto, double s) { return g * x.call("_power_scalar", s - 1) * s; }),
    scalar<fn::Power, Spread::left>("_rpower_scalar", "_RPowerScalar", 1, "scalar to the power of data.",
                                    [](auto g, auto, auto y, double s) { return g * y * std::log(s); }),
    scalar<fn::Maximum, Spread::right>(
        "_maximum_scalar", "_MaximumScalar", 0, "max(data, scalar).",
        [](auto g, auto x, auto, double s) { return g * x.call("_greater_equal_scalar", s); }),
    scalar<fn::Minimum, Spread::right>(
        "_minimum_scalar", "_MinimumScalar", 0, "min(data, scalar).",
        [](auto g, auto x, auto, double s) { return g * x.call("_lesser_equal_scalar", s); }),
    scalar<fn::Hypot, Spread::right>("_hypot_scalar", "_HypotScalar", 0.5,
                                     "Square root of data^2 + scalar^2.",
                                     [](auto g, auto x, auto y, double) { return g * (x / y); }),
    scalar<fn::Equal, Spread::right>("_equal_scalar", "_EqualScalar", 0,
                                     "1 where data equals scalar, else 0.", kZeroGradient),
    scalar<fn::NotEqual, Spread::right>("_not_equal_scalar", "_NotEqualScalar", 0,
                                        "1 where data differs from scalar, else 0.", kZeroGradient),
    scalar<fn::Greater, Spread::right>("_greater_scalar", "_GreaterScalar", 0,
                                       "1 where data > scalar, else 0.", kZeroGradient),
    scalar<fn::GreaterEqual, Spread::right>("_greater_equal_scalar", "_GreaterEqualScalar", 0,
                                            "1 where data >= scalar, else 0.", kZeroGradient),
    scalar<fn::Lesser, Spread::right>("_lesser_scalar", "_LesserScalar", 0, "1 where data < scalar, else 0.",
                                      kZeroGradient),
    scalar<fn::LesserEqual, Spread::right>("_lesser_equal_scalar", "_LesserEqualScalar", 0,
                                           "1 where data <= scalar, else 0.", kZeroGradient),
    scalar<fn::LogicalAnd, Spread::right>("_logical_and_scalar", "_LogicalAndScalar", 0,
                                          "1 where data and scalar are not zero, else 0.", kZeroGradient),
    scalar<fn::LogicalOr, Spread::right>("_logical_or_scalar", "_LogicalOrScalar", 0,
                                         "1 where data or scalar is not zero, else 0.", kZeroGradient),
    scalar<fn::LogicalXor, Spread::right>("_logical_xor_scalar", "_LogicalXorScalar", 0,
                                          "1 where exactly one of data and scalar is not zero, else 0.",
                                          kZeroGradient),
    scalar<fn::SmoothL1, Spread::right, SmoothL1Params>(
        "smooth_l1", "", 0, "0.5 (scalar x)^2 where |x| <= 1 / scalar^2, else |x| - 0.5 / scalar^2.",
        [](auto g, auto x, auto, double s) { return g * x.call("_smooth_l1_slope", s); }),
    scalar<fn::SmoothL1Slope, Spread::right, SmoothL1Params>("_smooth_l1_slope", "", 0, "", kZeroGradient)};

}  // namespace loomix::ops
