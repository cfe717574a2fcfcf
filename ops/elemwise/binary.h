// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "ops/elemwise/binary_functors.h"
#include "ops/elemwise/loops.h"
#include "ops/elemwise/op_list.h"
#include "ops/elemwise/scalar.h"

// The binary operators, a line each: enum, loops of every instruction set, kernels and schemas are made of this list
// and of that of scalar.h.
namespace loomix::ops {

template <class F, class Left, class Right>
struct BinaryOp {
  using Functor = F;
  const char* same;  // of equal shapes
  Aliases same_aliases;
  const char* broadcast;  // of shapes that broadcast; "" for none
  Aliases broadcast_aliases;
  double element_ns;  // on one core; 0 where memory bounds it
  const char* doc;
  // Derivatives times g, from the operands a and b and the output y, all of the output's shape.
  Left by_left;
  Right by_right;
};

template <class F, class Left, class Right>
constexpr BinaryOp<F, Left, Right> binary(const char* same, Aliases same_aliases, const char* broadcast,
                                          Aliases broadcast_aliases, double element_ns, const char* doc,
                                          Left by_left, Right by_right) {
  return {same, same_aliases, broadcast, broadcast_aliases, element_ns, doc, by_left, by_right};
}

inline constexpr auto kPass = [](auto g, auto, auto, auto) { return g; };

inline constexpr std::tuple kBinaryOps{
    binary<fn::Add>("elemwise_add", {"_Plus", "_add", "_plus", "_sparse_elemwise_add"}, "broadcast_add",
                    {"_sparse_broadcast_add", "_sparse_broadcast_plus", "broadcast_plus"}, 0,
                    "Sum of two arrays.", kPass, kPass),
    binary<fn::Sub>("elemwise_sub", {"_Minus", "_minus", "_sparse_elemwise_sub", "_sub"}, "broadcast_sub",
                    {"_sparse_broadcast_minus", "_sparse_broadcast_sub", "broadcast_minus"}, 0,
                    "Difference of two arrays.", kPass, [](auto g, auto, auto, auto) { return -g; }),
    binary<fn::Mul>(
        "elemwise_mul", {"_Mul", "_mul", "_sparse_elemwise_mul"}, "broadcast_mul", {"_sparse_broadcast_mul"},
        0, "Product of two arrays.", [](auto g, auto, auto b, auto) { return g.call("broadcast_mul", b); },
        [](auto g, auto a, auto, auto) { return g.call("broadcast_mul", a); }),
    binary<fn::Div>(
        "elemwise_div", {"_Div", "_div", "_sparse_elemwise_div"}, "broadcast_div", {"_sparse_broadcast_div"},
        0, "Quotient of two arrays.", [](auto g, auto, auto b, auto) { return g.call("broadcast_div", b); },
        [](auto g, auto, auto b, auto y) { return -(g * y).call("broadcast_div", b); }),
    binary<fn::Mod>(
        "_mod", {"_Mod"}, "broadcast_mod", {}, 4, "Remainder of a division; it has the divisor's sign.",
        kPass, [](auto g, auto a, auto b, auto) { return -(g * a.call("broadcast_div", b).call("floor")); }),
    binary<fn::Power>(
        "_power", {"_Power"}, "broadcast_power", {}, 1, "The first array to the power of the second.",
        [](auto g, auto a, auto b, auto) {
          return (g * a.call("broadcast_power", b + -1.0)).call("broadcast_mul", b);
        },
        [](auto g, auto a, auto, auto y) { return (g * y).call("broadcast_mul", a.call("log")); }),
    binary<fn::Maximum>(
        "_maximum", {"_Maximum"}, "broadcast_maximum", {}, 0, "The larger of two arrays' elements.",
        [](auto g, auto a, auto b, auto) { return g * a.call("broadcast_greater_equal", b); },
        [](auto g, auto a, auto b, auto) { return g * a.call("broadcast_lesser", b); }),
    binary<fn::Minimum>(
        "_minimum", {"_Minimum"}, "broadcast_minimum", {}, 0, "The smaller of two arrays' elements.",
        [](auto g, auto a, auto b, auto) { return g * a.call("broadcast_lesser_equal", b); },
        [](auto g, auto a, auto b, auto) { return g * a.call("broadcast_greater", b); }),
    binary<fn::Hypot>(
        "_hypot", {"_Hypot"}, "broadcast_hypot", {}, 0.5, "Square root of the sum of squares.",
        [](auto g, auto a, auto, auto y) { return (g / y).call("broadcast_mul", a); },
        [](auto g, auto, auto b, auto y) { return (g / y).call("broadcast_mul", b); }),
    binary<fn::Arctan2>(
        "_arctan2", {}, "_npi_arctan2", {}, 1, "The angle of the point (rhs, lhs), from -pi to pi.",
        [](auto g, auto a, auto b, auto) {
          return (g / a.call("square").call("broadcast_add", b.call("square"))).call("broadcast_mul", b);
        },
        [](auto g, auto a, auto b, auto) {
          return -(g / a.call("square").call("broadcast_add", b.call("square"))).call("broadcast_mul", a);
        }),
    binary<fn::Copysign>(
        "_copysign", {}, "_npi_copysign", {}, 0, "The first array with the signs of the second.",
        [](auto g, auto a, auto, auto y) {
          return (g * y.call("sign")).call("broadcast_mul", a.call("sign"));
        },
        kZeroGradient),
    binary<fn::BitwiseAnd>("_bitwise_and", {}, "_npi_bitwise_and", {}, 0, "The bits that both integers have.",
                           kZeroGradient, kZeroGradient),
    binary<fn::BitwiseOr>("_bitwise_or", {}, "_npi_bitwise_or", {}, 0,
                          "The bits that one of two integers has.", kZeroGradient, kZeroGradient),
    binary<fn::BitwiseXor>("_bitwise_xor", {}, "_npi_bitwise_xor", {}, 0,
                           "The bits that exactly one of two integers has.", kZeroGradient, kZeroGradient),
    binary<fn::LeftShift>("_bitwise_left_shift", {}, "_npi_bitwise_left_shift", {}, 0,
                          "The bits of integers moved to higher places, as NumPy's.", kZeroGradient,
                          kZeroGradient),
    binary<fn::RightShift>("_bitwise_right_shift", {}, "_npi_bitwise_right_shift", {}, 0,
                           "The bits of integers moved to lower places, as NumPy's.", kZeroGradient,
                           kZeroGradient),
    binary<fn::Gcd>("_gcd", {}, "_npi_gcd", {}, 10, "The greatest common divisor of two integers.",
                    kZeroGradient, kZeroGradient),
    binary<fn::Lcm>("_lcm", {}, "_npi_lcm", {}, 10, "The least common multiple of two integers.",
                    kZeroGradient, kZeroGradient),
    binary<fn::Equal>("_equal", {"_Equal"}, "broadcast_equal", {}, 0, "1 where the arrays are equal, else 0.",
                      kZeroGradient, kZeroGradient),
    binary<fn::NotEqual>("_not_equal", {"_Not_Equal"}, "broadcast_not_equal", {}, 0,
                         "1 where the arrays differ, else 0.", kZeroGradient, kZeroGradient),
    binary<fn::Greater>("_greater", {"_Greater"}, "broadcast_greater", {}, 0,
                        "1 where the first array is greater, else 0.", kZeroGradient, kZeroGradient),
    binary<fn::GreaterEqual>("_greater_equal", {"_Greater_Equal"}, "broadcast_greater_equal", {}, 0,
                             "1 where the first array is greater or equal, else 0.", kZeroGradient,
                             kZeroGradient),
    binary<fn::Lesser>("_lesser", {"_Lesser"}, "broadcast_lesser", {}, 0,
                       "1 where the first array is smaller, else 0.", kZeroGradient, kZeroGradient),
    binary<fn::LesserEqual>("_lesser_equal", {"_Lesser_Equal"}, "broadcast_lesser_equal", {}, 0,
                            "1 where the first array is smaller or equal, else 0.", kZeroGradient,
                            kZeroGradient),
    binary<fn::LogicalAnd>("_logical_and", {"_Logical_And"}, "broadcast_logical_and", {}, 0,
                           "1 where both arrays are not zero, else 0.", kZeroGradient, kZeroGradient),
    binary<fn::LogicalOr>("_logical_or", {"_Logical_Or"}, "broadcast_logical_or", {}, 0,
                          "1 where one of the arrays is not zero, else 0.", kZeroGradient, kZeroGradient),
    binary<fn::LogicalXor>("_logical_xor", {"_Logical_Xor"}, "broadcast_logical_xor", {}, 0,
                           "1 where exactly one of the arrays is not zero, else 0.", kZeroGradient,
                           kZeroGradient),
    binary<fn::Add>("_grad_add", {}, "", {}, 0, "Sum of two gradients.", kPass, kPass),
    // Gradients in one pass over memory, (g, kept value): hidden, as they have no doc string.
    binary<fn::BackwardRelu>(
        "_backward_relu", {}, "", {}, 0, "",
        [](auto h, auto, auto y, auto) { return h.call("_backward_relu", y); }, kZeroGradient),
    binary<fn::BackwardSigmoid>(
        "_backward_sigmoid", {}, "", {}, 0, "",
        [](auto h, auto, auto y, auto) { return h.call("_backward_sigmoid", y); },
        [](auto h, auto g, auto y, auto) { return h * g * (1.0 - y * 2.0); }),
    binary<fn::BackwardTanh>(
        "_backward_tanh", {}, "", {}, 0, "",
        [](auto h, auto, auto y, auto) { return h.call("_backward_tanh", y); },
        [](auto h, auto g, auto y, auto) { return h * g * y * -2.0; }),
    binary<fn::BackwardSoftrelu>(
        "_backward_softrelu", {}, "", {}, 0.5, "",
        [](auto h, auto, auto y, auto) { return h.call("_backward_softrelu", y); },
        [](auto h, auto g, auto y, auto) { return h * g * (-y).call("exp"); }),
    binary<fn::BackwardSoftsign>(
        "_backward_softsign", {}, "", {}, 0, "",
        [](auto h, auto, auto x, auto) { return h.call("_backward_softsign", x); },
        [](auto h, auto g, auto x, auto) {
          const auto scale = x.call("abs") + 1.0;
          return h * g * x.call("sign") / (scale * scale * scale) * -2.0;
        }),
    binary<fn::BackwardAbs>(
        "_backward_abs", {}, "", {}, 0, "",
        [](auto h, auto, auto x, auto) { return h.call("_backward_abs", x); }, kZeroGradient),
    binary<fn::BackwardSquare>(
        "_backward_square", {}, "", {}, 0, "",
        [](auto h, auto, auto x, auto) { return h.call("_backward_square", x); },
        [](auto h, auto g, auto, auto) { return h.call("_backward_square", g); })};

using BinaryFunctors = decltype(functors_of(kBinaryOps) + functors_of(kScalarOps));

template <class F>
inline constexpr Binary binary_code = static_cast<Binary>(place_of<F>(BinaryFunctors{}));

}  // namespace loomix::ops
