// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace loomix::ops {

// Copies to memory past the caches, for arrays that these do not hold. A usual write reads the line first, which is a third of
// the traffic of a copy.
inline void stream_copy(std::byte* to, const std::byte* from, int64_t bytes) {
#if defined(__SSE2__)
  const int64_t head = std::min<int64_t>(-reinterpret_cast<intptr_t>(to) & 63, bytes);
  std::memcpy(to, from, static_cast<size_t>(head));
  int64_t i = head;
  for (; i + 64 <= bytes; i += 64) {
    for (int64_t part = i; part < i + 64; part += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + part)));
    }
  }
  std::memcpy(to + i, from + i, static_cast<size_t>(bytes - i));
#else
  std::memcpy(to, from, static_cast<size_t>(bytes));
#endif
}

// What the thread copied so is in its place before what it does from now on.
inline void end_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace loomix::ops
