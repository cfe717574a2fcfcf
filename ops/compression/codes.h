// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/dtype.h"

// Values made smaller before they travel: gradients of stores, and what goes between blocks of matrices.
namespace loomix::ops {

// `two_bit`: a value becomes threshold, -threshold or 0. `top_k`: the `ratio` of the values that is largest travels. What both leave
// out goes into a residual, which is added to what is sent next. `narrow`: a value becomes one of a smaller type.
struct Code {
  enum class Kind : uint8_t { none, narrow, two_bit, top_k };
  Kind kind = Kind::none;
  DType narrow = DType::float16;
  float threshold = 0.5f;
  float ratio = 0.01f;

  bool enabled() const noexcept { return kind != Kind::none; }
  bool has_residual() const noexcept { return kind == Kind::two_bit || kind == Kind::top_k; }
  std::string to_string() const;  // as parse() takes it
  // "float16", "bfloat16", "2bit", "2bit:THRESHOLD" or "topk:RATIO". ValueError, from `who`, says what is allowed.
  static Code parse(std::string_view text, std::string_view who);
};

// What arrives of `count` values, in `arrived`; `residual` changes (two_bit only, else it may be null). Not top_k.
void pass_compressed(const Code& code, const float* values, float* residual, float* arrived, int64_t count);

// The form that travels: two_bit holds four values a byte, first value in the lowest bits (0, 1 plus, 2 minus); top_k the places
// (32 bits) that travel, then their values. What is decompressed says by its size how many places there are; ValueError if one
// of them is `count` or more.
int64_t compressed_bytes(const Code& code, int64_t count);
void compress(const Code& code, const float* values, float* residual, std::byte* to, int64_t count);
void decompress(const Code& code, std::span<const std::byte> from, float* to, int64_t count);

}  // namespace loomix::ops
