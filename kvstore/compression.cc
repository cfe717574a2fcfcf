// SPDX-License-Identifier: Apache-2.0
#include "kvstore/compression.h"

#include <algorithm>

#include "base/dtype.h"
#include "ops/elemwise/loops.h"

namespace loomix::kvstore {
namespace {

constexpr int64_t kBlock = 1024;

}  // namespace

void CompressionParams::fields(FieldList<CompressionParams>& f) {
  f("type", &CompressionParams::type, "How gradients are made smaller.").options({"none", "2bit", "fp16"});
  f("threshold", &CompressionParams::threshold, "2bit: the size of what is sent for a value that reaches it.")
      .above(0);
}

void pass_compressed(const CompressionParams& params, const float* gradient, float* residual, float* arrived,
                     int64_t count) {
  if (!params.two_bit()) {
    alignas(64) uint16_t halves[kBlock];
    for (int64_t i = 0; i < count; i += kBlock) {
      const int64_t part = std::min(kBlock, count - i);
      ops::convert_row(DType::float32, gradient + i, DType::float16, halves, part);
      ops::convert_row(DType::float16, halves, DType::float32, arrived + i, part);
    }
    return;
  }
  const float step = params.threshold;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float wanted = residual[i] + gradient[i];
    const float sent = wanted >= step ? step : wanted <= -step ? -step : 0.0f;
    residual[i] = wanted - sent;
    arrived[i] = sent;
  }
}

int64_t compressed_bytes(const CompressionParams& params, int64_t count) {
  return params.two_bit() ? (count + 3) / 4 : params.enabled() ? 2 * count : 4 * count;
}

void compress(const CompressionParams& params, const float* gradient, float* residual, std::byte* to,
              int64_t count) {
  if (!params.two_bit()) {
    ops::convert_row(DType::float32, gradient, DType::float16, to, count);
    return;
  }
  alignas(64) float sent[kBlock];
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t part = std::min(kBlock, count - i);
    pass_compressed(params, gradient + i, residual + i, sent, part);
    for (int64_t j = 0; j < part; j += 4) {
      unsigned byte = 0;
      for (int64_t k = j; k < std::min(j + 4, part); ++k)
        byte |= (sent[k] > 0 ? 1u : sent[k] < 0 ? 2u : 0u) << (2 * (k - j));
      to[(i + j) / 4] = static_cast<std::byte>(byte);
    }
  }
}

void decompress(const CompressionParams& params, const std::byte* from, float* to, int64_t count) {
  if (!params.two_bit()) {
    ops::convert_row(DType::float16, from, DType::float32, to, count);
    return;
  }
  const float steps[4] = {0.0f, params.threshold, -params.threshold, 0.0f};
  for (int64_t i = 0; i < count; ++i) to[i] = steps[static_cast<unsigned>(from[i / 4]) >> (2 * (i % 4)) & 3u];
}

}  // namespace loomix::kvstore
