// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/params.h"

// Gradients made smaller before they travel.
namespace loomix::kvstore {

// `2bit`: a value becomes threshold, -threshold or 0, and what is lost is kept as a residual and added to the next
// gradient. `fp16`: a value becomes a half. `topk`: the `ratio` of the values that is largest travels, the others are the
// residual; between machines only.
struct CompressionParams {
  std::string type = "none";
  float threshold = 0.5f;
  float ratio = 0.01f;
  static void fields(FieldList<CompressionParams>& f);
  bool enabled() const noexcept { return type != "none"; }
  bool two_bit() const noexcept { return type == "2bit"; }
  bool top_k() const noexcept { return type == "topk"; }
  bool has_residual() const noexcept { return two_bit() || top_k(); }
};

// What arrives of `count` gradients, in `arrived`; `residual` changes (2bit only, else it may be null). Not topk.
void pass_compressed(const CompressionParams& params, const float* gradient, float* residual, float* arrived,
                     int64_t count);

// The form that travels: 2bit holds four values a byte, first value in the lowest bits (0, 1 plus, 2 minus); topk the places
// (32 bits) that travel, then their values. What is decompressed says by its size how many places there are.
int64_t compressed_bytes(const CompressionParams& params, int64_t count);
void compress(const CompressionParams& params, const float* gradient, float* residual, std::byte* to,
              int64_t count);
void decompress(const CompressionParams& params, std::span<const std::byte> from, float* to, int64_t count);

}  // namespace loomix::kvstore
