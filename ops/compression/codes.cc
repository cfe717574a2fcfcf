// SPDX-License-Identifier: Apache-2.0
#include "ops/compression/codes.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "ops/elemwise/loops.h"

namespace loomix::ops {
namespace {

constexpr int64_t kBlock = 1024;
constexpr int64_t kPlaceBytes = sizeof(uint32_t) + sizeof(float);

// At least one of those that there are.
int64_t kept_of(const Code& code, int64_t count) {
  const int64_t share = std::llround(static_cast<double>(code.ratio) * static_cast<double>(count));
  return std::min(std::max<int64_t>(share, 1), count);
}

// Without the sign, the bits of floats are in the order of their sizes.
uint32_t size_bits(float value) { return std::bit_cast<uint32_t>(value) & 0x7fffffffu; }

// The largest values; of equal ones the first.
void compress_top(int64_t kept, const float* values, float* residual, std::byte* to, int64_t count) {
  if (kept == 0) return;
  std::vector<uint32_t> sizes(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    residual[i] += values[i];
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

std::string Code::to_string() const {
  switch (kind) {
    case Kind::none: return "none";
    case Kind::narrow: return std::string(name_of(narrow));
    case Kind::two_bit: return fmt::format("2bit:{}", threshold);
    case Kind::top_k: return fmt::format("topk:{}", ratio);
  }
  return {};
}

Code Code::parse(std::string_view text, std::string_view who) {
  if (text == "float16") return {.kind = Kind::narrow, .narrow = DType::float16};
  if (text == "bfloat16") return {.kind = Kind::narrow, .narrow = DType::bfloat16};
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  Code code{.kind = name == "2bit" ? Kind::two_bit : Kind::top_k};
  bool good = name == "2bit" || name == "topk";
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    float& number = code.kind == Kind::two_bit ? code.threshold : code.ratio;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    good = good && read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  }
  good = good && code.threshold > 0 && std::isfinite(code.threshold) && code.ratio > 0 && code.ratio <= 1;
  LOOMIX_CHECK(
      good, ValueError,
      "[{}] code '{}'; expected float16, bfloat16, 2bit, 2bit:THRESHOLD with a threshold above 0, or "
      "topk:RATIO with a ratio above 0 and up to 1.",
      who, text);
  return code;
}

void pass_compressed(const Code& code, const float* values, float* residual, float* arrived, int64_t count) {
  if (code.kind == Code::Kind::narrow) {
    alignas(64) uint16_t halves[kBlock];
    for (int64_t i = 0; i < count; i += kBlock) {
      const int64_t part = std::min(kBlock, count - i);
      convert_row(DType::float32, values + i, code.narrow, halves, part);
      convert_row(code.narrow, halves, DType::float32, arrived + i, part);
    }
    return;
  }
  const float step = code.threshold;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float wanted = residual[i] + values[i];
    const float sent = wanted >= step ? step : wanted <= -step ? -step : 0.0f;
    residual[i] = wanted - sent;
    arrived[i] = sent;
  }
}

int64_t compressed_bytes(const Code& code, int64_t count) {
  if (code.kind == Code::Kind::top_k) return kPlaceBytes * kept_of(code, count);
  return code.kind == Code::Kind::two_bit ? (count + 3) / 4 : code.enabled() ? 2 * count : 4 * count;
}

void compress(const Code& code, const float* values, float* residual, std::byte* to, int64_t count) {
  if (code.kind == Code::Kind::top_k) return compress_top(kept_of(code, count), values, residual, to, count);
  if (code.kind == Code::Kind::narrow) {
    convert_row(DType::float32, values, code.narrow, to, count);
    return;
  }
  alignas(64) float sent[kBlock];
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t part = std::min(kBlock, count - i);
    pass_compressed(code, values + i, residual + i, sent, part);
    for (int64_t j = 0; j < part; j += 4) {
      unsigned byte = 0;
      for (int64_t k = j; k < std::min(j + 4, part); ++k)
        byte |= (sent[k] > 0 ? 1u : sent[k] < 0 ? 2u : 0u) << (2 * (k - j));
      to[(i + j) / 4] = static_cast<std::byte>(byte);
    }
  }
}

void decompress(const Code& code, std::span<const std::byte> from, float* to, int64_t count) {
  if (code.kind == Code::Kind::top_k) {
    std::fill_n(to, count, 0.0f);
    const auto kept = static_cast<int64_t>(from.size()) / kPlaceBytes;
    for (int64_t i = 0; i < kept; ++i) {
      uint32_t place = 0;
      std::memcpy(&place, from.data() + i * 4, 4);
      LOOMIX_CHECK(place < count, ValueError, "[topk] place {} came; expected 0 to {}.", place, count - 1);
      std::memcpy(to + place, from.data() + (kept + i) * 4, 4);
    }
    return;
  }
  if (code.kind == Code::Kind::narrow) {
    convert_row(code.narrow, from.data(), DType::float32, to, count);
    return;
  }
  const float steps[4] = {0.0f, code.threshold, -code.threshold, 0.0f};
  for (int64_t i = 0; i < count; ++i)
    to[i] = steps[static_cast<unsigned>(from[static_cast<size_t>(i / 4)]) >> (2 * (i % 4)) & 3u];
}

}  // namespace loomix::ops
