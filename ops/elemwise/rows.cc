// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ops/elemwise/loops.h"
#include "ops/elemwise/results.h"
#include "ops/isa.h"

namespace loomix::ops {
namespace {

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return static_cast<double>(value) != 0;
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    // Narrow types wrap around as if they were cut from the wide one.
    using Wide = std::conditional_t<sizeof(To) < 8, int32_t, int64_t>;
    using Real = std::conditional_t<std::is_same_v<From, double>, double, float>;
    const Real real = static_cast<Real>(value);
    const Real limit = -static_cast<Real>(std::numeric_limits<Wide>::min());
    if (!(real < limit)) return real != real ? To(0) : static_cast<To>(std::numeric_limits<Wide>::max());
    if (real < -limit) return static_cast<To>(std::numeric_limits<Wide>::min());
    return static_cast<To>(static_cast<Wide>(real));
  } else if constexpr (std::is_same_v<To, float16> || std::is_same_v<To, bfloat16>) {
    return To(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void convert_loop(const void* from, void* to, int64_t count) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  if constexpr (std::is_floating_point_v<From> &&
                std::is_floating_point_v<To>) {  // as results of reductions are
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] = convert<To>(x[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = convert<To>(x[i]);
  }
}

template <class To>
void limited_loop(const double* x, void* y, int64_t count) {
  using Limits = std::numeric_limits<To>;
  for (int64_t i = 0; i < count; ++i)
    static_cast<To*>(y)[i] = convert<To>(std::clamp<double>(x[i], Limits::min(), Limits::max()));
}

UnaryLoop fast_conversion(DType from, DType to) {
  const ConvertLoops& loops = best_loops<ConvertLoops>();
  if (from == DType::float16 && to == DType::float32) return loops.f16_to_f32;
  if (from == DType::float32 && to == DType::float16) return loops.f32_to_f16;
  if (from == DType::bfloat16 && to == DType::float32) return loops.bf16_to_f32;
  if (from == DType::float32 && to == DType::bfloat16) return loops.f32_to_bf16;
  return nullptr;
}

const char* advance(const void* data, int64_t elements, DType dtype) {
  return static_cast<const char*>(data) + elements * size_of(dtype);
}
char* advance(void* data, int64_t elements, DType dtype) {
  return static_cast<char*>(data) + elements * size_of(dtype);
}

struct Block {
  alignas(64) double data[kLoopBlock];  // room for floats, too
};

void put_block(DType via, const Block& block, DType dtype, void* y, int64_t count) {
  if (via == DType::float64) return convert_results(block.data, dtype, y, count);
  convert_row(via, block.data, dtype, y, count);
}

// Halves are computed in float; integers that have no loop of their own in double.
void unary_by_blocks(UnaryLoop loop, DType dtype, DType via, const void* x, void* y, int64_t count) {
  Block block;
  for (int64_t begin = 0; begin < count; begin += kLoopBlock) {
    const int64_t n = std::min(kLoopBlock, count - begin);
    convert_row(dtype, advance(x, begin, dtype), via, block.data, n);
    loop(block.data, block.data, n);
    put_block(via, block, dtype, advance(y, begin, dtype), n);
  }
}

void binary_by_blocks(BinaryLoop loop, DType dtype, DType via, Spread spread, const void* a, const void* b,
                      void* y, int64_t count) {
  Block left;
  Block right;
  if (spread == Spread::left) convert_row(dtype, a, via, left.data, 1);
  if (spread == Spread::right) convert_row(dtype, b, via, right.data, 1);
  for (int64_t begin = 0; begin < count; begin += kLoopBlock) {
    const int64_t n = std::min(kLoopBlock, count - begin);
    if (spread != Spread::left) convert_row(dtype, advance(a, begin, dtype), via, left.data, n);
    if (spread != Spread::right) convert_row(dtype, advance(b, begin, dtype), via, right.data, n);
    Block& result = spread == Spread::left ? right : left;
    loop(left.data, right.data, result.data, n);
    put_block(via, result, dtype, advance(y, begin, dtype), n);
  }
}

// bool is stored as bytes 0 and 1, and computed as such; make_boolean makes the results 0 or 1 again.
template <class Loops>
auto integer_loops(const Loops& loops, DType dtype) {
  switch (dtype) {
    case DType::int8: return loops.i8;
    case DType::int32: return loops.i32;
    case DType::int64: return loops.i64;
    default: return loops.u8;
  }
}

void make_boolean(void* data, int64_t count) {
  uint8_t* y = static_cast<uint8_t*>(data);
  for (int64_t i = 0; i < count; ++i) y[i] = y[i] != 0;
}

}  // namespace

void convert_row(DType from, const void* x, DType to, void* y, int64_t count) {
  if (from == to) {
    if (x != y && count > 0) std::memcpy(y, x, static_cast<size_t>(count * size_of(from)));
    return;
  }
  if (const UnaryLoop fast = fast_conversion(from, to)) return fast(x, y, count);
  dispatch_all(from, "Cast", [&]<class From>(Type<From>) {
    dispatch_all(to, "Cast", [&]<class To>(Type<To>) { convert_loop<From, To>(x, y, count); });
  });
}

void convert_results(const double* x, DType to, void* y, int64_t count) {
  if (to == DType::int8) return limited_loop<int8_t>(x, y, count);
  if (to == DType::uint8) return limited_loop<uint8_t>(x, y, count);
  convert_row(DType::float64, x, to, y, count);
}

void unary_row(Unary op, DType dtype, const void* x, void* y, int64_t count) {
  const UnaryLoops& loops = best_loops<UnaryLoops>();
  const int i = static_cast<int>(op);
  if (dtype == DType::float32) return loops.f32[i](x, y, count);
  if (dtype == DType::float64) return loops.f64[i](x, y, count);
  if (is_half(dtype)) return unary_by_blocks(loops.f32[i], dtype, DType::float32, x, y, count);
  if (const UnaryLoop exact = integer_loops(loops, dtype)[i]) {
    exact(x, y, count);
  } else {
    unary_by_blocks(loops.f64[i], dtype, DType::float64, x, y, count);
  }
  if (dtype == DType::boolean) make_boolean(y, count);
}

void binary_row(Binary op, DType dtype, Spread spread, const void* a, const void* b, void* y, int64_t count) {
  const BinaryLoops& loops = best_loops<BinaryLoops>();
  const int i = static_cast<int>(op);
  const int s = static_cast<int>(spread);
  if (dtype == DType::float32) return loops.f32[i].by[s](a, b, y, count);
  if (dtype == DType::float64) return loops.f64[i].by[s](a, b, y, count);
  if (is_half(dtype))
    return binary_by_blocks(loops.f32[i].by[s], dtype, DType::float32, spread, a, b, y, count);
  if (const BinaryLoop exact = integer_loops(loops, dtype)[i].by[s]) {
    exact(a, b, y, count);
  } else {
    binary_by_blocks(loops.f64[i].by[s], dtype, DType::float64, spread, a, b, y, count);
  }
  if (dtype == DType::boolean) make_boolean(y, count);
}

}  // namespace loomix::ops
