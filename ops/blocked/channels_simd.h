// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ops/blocked/blocked_loops.h"

// What the loops over blocks of channels share. Only for files that are compiled once per instruction set.
namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

struct Span {
  int64_t begin, end;
  int64_t counted;  // with what was added around the data
};

inline Span window(const BlockedWindows& axis, int64_t i) {
  const int64_t begin = i * axis.stride - axis.pad, end = begin + axis.kernel;
  const int64_t padded_end = axis.in + axis.pad;
  const int64_t last = end < padded_end ? end : padded_end;
  return {begin > 0 ? begin : 0, end < axis.in ? end : axis.in, last - begin};
}

// As bfloat16(value), but without a branch, so that loops over it become vector instructions.
template <class T>
T rounded(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    const auto word = std::bit_cast<uint32_t>(value);
    const uint32_t nearest = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16, nan = (word >> 16) | 0x40u;
    T result;
    result.bits = static_cast<uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? nan : nearest);
    return result;
  }
}

// The channels of a pixel as one value, which stays in registers: an array that a loop joins others to would lie in memory.
// By reference, since how such values are returned depends on the instruction set.
template <int B>
struct Channels;
template <>
struct Channels<16> {
  typedef float Values __attribute__((vector_size(64)));
  typedef uint32_t Words __attribute__((vector_size(64)));
  typedef uint16_t Halves __attribute__((vector_size(32)));
};
template <>
struct Channels<8> {
  typedef float Values __attribute__((vector_size(32)));
  typedef uint32_t Words __attribute__((vector_size(32)));
  typedef uint16_t Halves __attribute__((vector_size(16)));
};

template <int B>
void load(const float* from, typename Channels<B>::Values& values) {
  std::memcpy(&values, from, sizeof values);
}
template <int B>
void load(const bfloat16* from, typename Channels<B>::Values& values) {
  typename Channels<B>::Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  const typename Channels<B>::Words words = __builtin_convertvector(halves, typename Channels<B>::Words)
                                            << 16;
  std::memcpy(&values, &words, sizeof values);
}
template <int B>
void store(const typename Channels<B>::Values& values, float* to) {
  std::memcpy(to, &values, sizeof values);
}
// As rounded(), for all channels at once: a loop over them becomes twice as many instructions.
template <int B>
void store(const typename Channels<B>::Values& values, bfloat16* to) {
  typename Channels<B>::Words words;
  std::memcpy(&words, &values, sizeof words);
  const auto high = words >> 16, nearest = (words + 0x7fffu + (high & 1u)) >> 16;
  const auto is_nan = (words & 0x7fffffffu) > 0x7f800000u;
  const auto halves = __builtin_convertvector(is_nan ? high | 0x40u : nearest, typename Channels<B>::Halves);
  std::memcpy(static_cast<void*>(to), &halves, sizeof halves);
}

}  // namespace
}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
