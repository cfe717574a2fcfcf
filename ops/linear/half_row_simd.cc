// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/half_row.h"

#include <bit>
#include <type_traits>

#include "base/dtype.h"
#include "ops/isa.h"

#if defined(__F16C__) && defined(__AVX2__)
#include <immintrin.h>
#endif

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {

#if defined(__F16C__) && defined(__AVX2__)
namespace {

constexpr int64_t kLanes = 8, kRows = 4;  // of the matrix that are read at the same time

template <class T>
__m256 widened(const uint16_t* from) {
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  if constexpr (std::is_same_v<T, float16>) return _mm256_cvtph_ps(halves);
  else return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

template <class T>
float scalar(uint16_t bits) {
  return std::bit_cast<T>(bits);
}

float total(__m256 sums) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

// Of R rows, with two vectors of sums each, so that additions do not wait for each other.
template <class T, int R>
void dots_of(int64_t depth, const float* row, const uint16_t* matrix, int64_t step, float* sums) {
  __m256 even[R] = {}, odd[R] = {};
  int64_t k = 0;
  for (; k + 2 * kLanes <= depth; k += 2 * kLanes) {
    const __m256 x = _mm256_loadu_ps(row + k), y = _mm256_loadu_ps(row + k + kLanes);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      even[r] = _mm256_fmadd_ps(x, widened<T>(matrix + r * step + k), even[r]);
      odd[r] = _mm256_fmadd_ps(y, widened<T>(matrix + r * step + k + kLanes), odd[r]);
    }
  }
  for (int r = 0; r < R; ++r) {
    float sum = total(_mm256_add_ps(even[r], odd[r]));
    for (int64_t i = k; i < depth; ++i) sum += row[i] * scalar<T>(matrix[r * step + i]);
    sums[r] += sum;
  }
}

template <class T>
void dots(int64_t count, int64_t depth, const float* row, const uint16_t* matrix, int64_t step, float* sums) {
  int64_t i = 0;
  for (; i + kRows <= count; i += kRows) dots_of<T, kRows>(depth, row, matrix + i * step, step, sums + i);
  for (; i < count; ++i) dots_of<T, 1>(depth, row, matrix + i * step, step, sums + i);
}

// Adds R rows of the matrix.
template <class T, int R>
void adds_of(int64_t count, const float* row, const uint16_t* matrix, int64_t step, float* sums) {
  __m256 factors[R];
  for (int r = 0; r < R; ++r) factors[r] = _mm256_set1_ps(row[r]);
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    __m256 sum = _mm256_loadu_ps(sums + j);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum = _mm256_fmadd_ps(factors[r], widened<T>(matrix + r * step + j), sum);
    _mm256_storeu_ps(sums + j, sum);
  }
  for (; j < count; ++j) {
    for (int r = 0; r < R; ++r) sums[j] += row[r] * scalar<T>(matrix[r * step + j]);
  }
}

template <class T>
void adds(int64_t count, int64_t depth, const float* row, const uint16_t* matrix, int64_t step, float* sums) {
  int64_t k = 0;
  for (; k + kRows <= depth; k += kRows) adds_of<T, kRows>(count, row + k, matrix + k * step, step, sums);
  for (; k < depth; ++k) adds_of<T, 1>(count, row + k, matrix + k * step, step, sums);
}

template <class T>
constexpr HalfRow kHalfRow = {dots<T>, adds<T>};

}  // namespace

template <>
const HalfRowLoops& compiled_loops() {
  static const HalfRowLoops made = {&kHalfRow<float16>, &kHalfRow<bfloat16>};
  return made;
}

#else

template <>
const HalfRowLoops& compiled_loops() {
  static const HalfRowLoops made = {nullptr, nullptr};
  return made;
}

#endif

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
