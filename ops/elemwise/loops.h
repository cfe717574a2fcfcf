// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/dtype.h"

// The loops over contiguous elements that every elementwise kernel is made of.
namespace loomix::ops {

enum class Unary : uint8_t {
  abs,
  arccos,
  arccosh,
  arcsin,
  arcsinh,
  arctan,
  arctanh,
  cbrt,
  ceil,
  cos,
  cosh,
  degrees,
  digamma,
  erf,
  erfinv,
  exp,
  expm1,
  fix,
  floor,
  gamma,
  gammaln,
  log,
  log10,
  log1p,
  log2,
  logical_not,
  negative,
  not_nan,
  radians,
  rcbrt,
  reciprocal,
  relu,
  rint,
  round,
  rsqrt,
  sigmoid,
  sign,
  sin,
  sinh,
  softrelu,
  softsign,
  sqrt,
  square,
  tan,
  tanh,
  trigamma,
  count
};

// The backward_ ones take (gradient, value that forward kept).
enum class Binary : uint8_t {
  add,
  sub,
  mul,
  div,
  mod,
  power,
  maximum,
  minimum,
  hypot,
  equal,
  not_equal,
  greater,
  greater_equal,
  lesser,
  lesser_equal,
  logical_and,
  logical_or,
  logical_xor,
  smooth_l1,
  smooth_l1_slope,
  backward_relu,
  backward_sigmoid,
  backward_tanh,
  backward_softsign,
  backward_abs,
  backward_square,
  count
};

// Which operand of a binary loop is one element.
enum class Spread : uint8_t { none, right, left };

// y = f(x) for `count` elements; x and y may be the same memory. Any type; halves go through float blocks, and integers
// through double except where that would round. Results of an element depend on its distance from the end of the
// row only by the last place, so rows are split at multiples of kLoopBlock.
void unary_row(Unary op, DType dtype, const void* x, void* y, int64_t count);
// y = f(a, b), with a or b one element if `spread` says so.
void binary_row(Binary op, DType dtype, Spread spread, const void* a, const void* b, void* y, int64_t count);
// y = x converted as C++ does, but that out-of-range floating numbers wrap around instead of being undefined.
void convert_row(DType from, const void* x, DType to, void* y, int64_t count);

inline constexpr int64_t kLoopBlock = 256;
inline constexpr int64_t kGrain = 32768;  // elements that are worth another core

// The vectorised loops of one instruction set.
using UnaryLoop = void (*)(const void* x, void* y, int64_t count);
using BinaryLoop = void (*)(const void* a, const void* b, void* y, int64_t count);
struct UnaryLoops {
  UnaryLoop f32[static_cast<int>(Unary::count)];
  UnaryLoop f64[static_cast<int>(Unary::count)];
};
struct BinaryLoops {
  BinaryLoop f32[static_cast<int>(Binary::count)][3];
  BinaryLoop f64[static_cast<int>(Binary::count)][3];
};
struct ConvertLoops {
  UnaryLoop f16_to_f32, f32_to_f16, bf16_to_f32, f32_to_bf16;
};
const UnaryLoops& unary_loops();
const BinaryLoops& binary_loops();
const ConvertLoops& convert_loops();

// The exact loops of the integer types; null where double does.
UnaryLoop integer_unary_loop(Unary op, DType dtype);
BinaryLoop integer_binary_loop(Binary op, DType dtype, Spread spread);

}  // namespace loomix::ops
