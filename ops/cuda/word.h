// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace loomix::cuda {

// Sixteen bytes, the most that one access moves.
struct alignas(16) Word16 {
  uint64_t half[2];
};

// The largest power of two up to 16 that divides everything in `bits`: the bytes that may be moved at once.
constexpr int64_t common_bytes(uint64_t bits) {
  int64_t bytes = 16;
  while (bits % static_cast<uint64_t>(bytes) != 0) bytes /= 2;
  return bytes;
}

// fn gets a type of so many bytes.
template <class Fn>
void dispatch_bytes(int64_t bytes, Fn&& fn) {
  switch (bytes) {
    case 1: return fn(Type<uint8_t>{});
    case 2: return fn(Type<uint16_t>{});
    case 4: return fn(Type<uint32_t>{});
    case 8: return fn(Type<uint64_t>{});
    default: return fn(Type<Word16>{});
  }
}

}  // namespace loomix::cuda
