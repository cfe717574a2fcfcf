// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace loomix::ops {

// The number that the real one at the end of a range stands as.
constexpr double largest_of(DType dtype) {
  return dtype == DType::int8 ? 127.0 : dtype == DType::uint8 ? 255.0 : 2147483647.0;
}

// Real numbers that whole ones stand for.
struct Range {
  float low = 0, high = 0;
  constexpr float reach() const { return std::max(low < 0 ? -low : low, high < 0 ? -high : high); }
  // The real number that one step of the type stands for.
  constexpr double step(DType dtype) const { return reach() / largest_of(dtype); }
};

// What passes know of an operator of whole numbers of 8 bits.
enum class WholeKind : uint8_t {
  quantize,
  requantize,
  dequantize,
  product,
  pooling,
  relu,
  flatten,
  concat,
  add,
  alone  // runs as it is
};
struct WholeRole {
  WholeKind kind;
  int arrays = 1;  // inputs before the ranges
  const char* real =
      nullptr;  // the operator that does the same on real numbers, unless there is nothing to do
  std::optional<Range> range = {};  // that is calibrated
  const char* reason = nullptr;     // why it runs alone

  static WholeRole alone(const char* reason) { return {.kind = WholeKind::alone, .reason = reason}; }
};

}  // namespace loomix::ops
