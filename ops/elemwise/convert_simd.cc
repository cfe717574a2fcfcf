// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/loops.h"
#include "ops/isa.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

void f16_to_f32(const void* from, void* to, int64_t count) {
  const uint16_t* x = static_cast<const uint16_t*>(from);
  float* y = static_cast<float*>(to);
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
#endif
  for (; i < count; ++i) y[i] = float16::to_float(x[i]);
}

void f32_to_f16(const void* from, void* to, int64_t count) {
  const float* x = static_cast<const float*>(from);
  uint16_t* y = static_cast<uint16_t*>(to);
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    const __m128i half =
        _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), half);
  }
#endif
  for (; i < count; ++i) y[i] = float16::from_float(x[i]);
}

void bf16_to_f32(const void* from, void* to, int64_t count) {
  const uint16_t* x = static_cast<const uint16_t*>(from);
  uint32_t* y = static_cast<uint32_t*>(to);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<uint32_t>(x[i]) << 16;
}

void f32_to_bf16(const void* from, void* to, int64_t count) {
  const uint32_t* x = static_cast<const uint32_t*>(from);
  uint16_t* y = static_cast<uint16_t*>(to);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t word = x[i];
    const uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    const uint32_t nan = (word >> 16) | 0x40u;
    y[i] = static_cast<uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
}

}  // namespace

template <>
const ConvertLoops& compiled_loops() {
  static const ConvertLoops made = {f16_to_f32, f32_to_f16, bf16_to_f32, f32_to_bf16};
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
