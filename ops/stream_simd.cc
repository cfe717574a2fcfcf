// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "ops/isa.h"
#include "ops/stream_copy.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

#if defined(__SSE2__)
constexpr int64_t kLine = 64;  // bytes

// One line, by as few writes as there can be: a line that comes in pieces may leave the processor in pieces, too.
void stream_line(std::byte* to, const std::byte* from) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
#elif defined(__AVX__)
  for (int64_t i = 0; i < kLine; i += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
#else
  for (int64_t i = 0; i < kLine; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
#endif
}

void stream_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
  int64_t i = std::min<int64_t>(-reinterpret_cast<intptr_t>(to) & (kLine - 1), bytes);
  std::memcpy(to, from, static_cast<size_t>(i));
  for (; i + kLine <= bytes; i += kLine) stream_line(to + i, from + i);
  std::memcpy(to + i, from + i, static_cast<size_t>(bytes - i));
}
#else
void stream_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}
#endif

}  // namespace

template <>
const StreamLoops& compiled_loops() {
  static constexpr StreamLoops made{stream_bytes};
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
