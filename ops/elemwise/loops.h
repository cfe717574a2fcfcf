// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/dtype.h"

// The loops over contiguous elements that every elementwise kernel is made of.
namespace loomix::ops {

constexpr bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

enum class Unary : uint8_t {};   // a place in UnaryFunctors; see unary_code in unary.h
enum class Binary : uint8_t {};  // a place in BinaryFunctors; see binary_code in binary.h

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

// A number as an element of a type.
struct Number {
  alignas(8) char bytes[8];
  Number(double value, DType dtype) { convert_row(DType::float64, &value, dtype, bytes, 1); }
};

inline constexpr int64_t kLoopBlock = 256;

// The vectorised loops of one instruction set, by code. Integers have none (null) where double does.
using UnaryLoop = void (*)(const void* x, void* y, int64_t count);
using BinaryLoop = void (*)(const void* a, const void* b, void* y, int64_t count);
struct SpreadLoops {
  BinaryLoop by[3];  // by Spread
};
struct UnaryLoops {
  const UnaryLoop *f32, *f64, *i8, *u8, *i32, *i64;
};
struct BinaryLoops {
  const SpreadLoops *f32, *f64, *i8, *u8, *i32, *i64;
};
struct ConvertLoops {
  UnaryLoop f16_to_f32, f32_to_f16, bf16_to_f32, f32_to_bf16;
};

}  // namespace loomix::ops
