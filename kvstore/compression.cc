// SPDX-License-Identifier: Apache-2.0
#include "kvstore/compression.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "base/dtype.h"
#include "ops/elemwise/loops.h"

namespace loomix::kvstore {
namespace {

constexpr int64_t kBlock = 1024;
constexpr int64_t kPlaceBytes = sizeof(uint32_t) + sizeof(float);

int64_t kept_of(const CompressionParams& params, int64_t count) {
  return std::clamp<int64_t>(std::llround(static_cast<double>(params.ratio) * static_cast<double>(count)), 1,
                             count);
}

// Without the sign, the bits of floats are in the order of their sizes.
uint32_t size_bits(float value) { return std::bit_cast<uint32_t>(value) & 0x7fffffffu; }

// The largest values; of equal ones the first.
void compress_top(int64_t kept, const float* gradient, float* residual, std::byte* to, int64_t count) {
  std::vector<uint32_t> sizes(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    residual[i] += gradient[i];
    sizes[static_cast<size_t>(i)] = size_bits(residual[i]);
  }
  const auto border = sizes.begin() + (kept - 1);
  std::nth_element(sizes.begin(), border, sizes.end(), std::greater<>());
  const uint32_t least = *border;
  int64_t equal = kept - std::count_if(sizes.begin(), border, [=](uint32_t size) { return size > least; });
  int64_t next = 0;
  for (int64_t i = 0; i < count && next < kept; ++i) {
    const uint32_t size = size_bits(residual[i]);
    if (size < least || (size == least && equal-- <= 0)) continue;
    const auto place = static_cast<uint32_t>(i);
    std::memcpy(to + next * 4, &place, 4);
    std::memcpy(to + (kept + next) * 4, residual + i, 4);
    residual[i] = 0;
    ++next;
  }
}

}  // namespace

void CompressionParams::fields(FieldList<CompressionParams>& f) {
  f("type", &CompressionParams::type, "How gradients are made smaller.")
      .options({"none", "2bit", "fp16", "topk"});
  f("threshold", &CompressionParams::threshold, "2bit: the size of what is sent for a value that reaches it.")
      .above(0);
  f("ratio", &CompressionParams::ratio, "topk: the part of the values that travels.").above(0).at_most(1);
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
  if (params.top_k()) return kPlaceBytes * kept_of(params, count);
  return params.two_bit() ? (count + 3) / 4 : params.enabled() ? 2 * count : 4 * count;
}

void compress(const CompressionParams& params, const float* gradient, float* residual, std::byte* to,
              int64_t count) {
  if (params.top_k()) return compress_top(kept_of(params, count), gradient, residual, to, count);
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

void decompress(const CompressionParams& params, std::span<const std::byte> from, float* to, int64_t count) {
  if (params.top_k()) {
    std::fill_n(to, count, 0.0f);
    const auto kept = static_cast<int64_t>(from.size()) / kPlaceBytes;
    for (int64_t i = 0; i < kept; ++i) {
      uint32_t place = 0;
      std::memcpy(&place, from.data() + i * 4, 4);
      std::memcpy(to + place, from.data() + (kept + i) * 4, 4);
    }
    return;
  }
  if (!params.two_bit()) {
    ops::convert_row(DType::float16, from.data(), DType::float32, to, count);
    return;
  }
  const float steps[4] = {0.0f, params.threshold, -params.threshold, 0.0f};
  for (int64_t i = 0; i < count; ++i)
    to[i] = steps[static_cast<unsigned>(from[static_cast<size_t>(i / 4)]) >> (2 * (i % 4)) & 3u];
}

}  // namespace loomix::kvstore
