// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/whole_tiles.h"

#include <cstring>

#include "ops/isa.h"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

// Per processor: vectors of sums, of four neighbours of the data, and of a weight; dot() adds four products to each sum. Sums of a
// tile fill the registers. Data is signed but for VNNI.
inline int32_t four_at(const void* data) {
  int32_t word;
  std::memcpy(&word, data, sizeof word);
  return word;
}

// Weights as the products of 16 bits want them: of each filter the first two of four, then the last two.
inline void arrange_halves(const int8_t* from, int8_t* to) {
  for (int half = 0; half < 2; ++half)
    for (int filter = 0; filter < 4; ++filter)
      for (int k = 0; k < 2; ++k) to[half * 8 + filter * 2 + k] = from[filter * 4 + half * 2 + k];
}
template <int kBytes>
void arrange_plain(const int8_t* from, int8_t* to) {
  std::memcpy(to, from, kBytes);
}

#if defined(__AVX512VNNI__) && defined(__AVX512F__)
constexpr int kWidth = 16, kMostVectors = 4, kTilePixels = 6;
constexpr bool kSigned = false;
using Sums = __m512i;
using Weights = __m512i;
using Data = __m512i;
inline Data spread(const uint8_t* data) { return _mm512_set1_epi32(four_at(data)); }
inline Weights weights_at(const int8_t* at) { return _mm512_loadu_si512(at); }
inline Sums dot(Sums sums, const Data& x, const Weights& w) { return _mm512_dpbusd_epi32(sums, x, w); }
inline void store(int32_t* to, Sums sums) { _mm512_storeu_si512(to, sums); }
constexpr auto kArrange = arrange_plain<64>;
#elif defined(__AVXVNNI__)
constexpr int kWidth = 8, kMostVectors = 2, kTilePixels = 6;
constexpr bool kSigned = false;
using Sums = __m256i;
using Weights = __m256i;
using Data = __m256i;
inline Data spread(const uint8_t* data) { return _mm256_set1_epi32(four_at(data)); }
inline Weights weights_at(const int8_t* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
inline Sums dot(Sums sums, const Data& x, const Weights& w) { return _mm256_dpbusd_avx_epi32(sums, x, w); }
inline void store(int32_t* to, Sums sums) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sums); }
constexpr auto kArrange = arrange_plain<32>;
#elif defined(__AVX2__)
// Pairs are summed in 16 bits. Unsigned data would not fit, 2 * 255 * 127; the magnitude of signed data does, 2 * 128 * 127, and
// its sign goes to the weight.
constexpr int kWidth = 8, kMostVectors = 2, kTilePixels = 4;
constexpr bool kSigned = true;
using Sums = __m256i;
using Weights = __m256i;
struct Data {
  __m256i signs, magnitudes;
};
inline Data spread(const uint8_t* data) {
  const __m256i x = _mm256_set1_epi32(four_at(data));
  return {x, _mm256_abs_epi8(x)};
}
inline Weights weights_at(const int8_t* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
inline Sums dot(Sums sums, const Data& x, const Weights& w) {
  const __m256i pairs = _mm256_maddubs_epi16(x.magnitudes, _mm256_sign_epi8(w, x.signs));
  return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
inline void store(int32_t* to, Sums sums) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sums); }
constexpr auto kArrange = arrange_plain<32>;
#elif defined(__SSE2__)
constexpr int kWidth = 4, kMostVectors = 2, kTilePixels = 4;
constexpr bool kSigned = true;
using Sums = __m128i;
struct Data {
  __m128i first, last;  // pairs of 16 bits
};
struct Weights {
  __m128i first, last;
};
inline __m128i low_half(__m128i bytes) { return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8); }
inline __m128i high_half(__m128i bytes) { return _mm_srai_epi16(_mm_unpackhi_epi8(bytes, bytes), 8); }
inline Data spread(const uint8_t* data) {
  const __m128i x = low_half(_mm_cvtsi32_si128(four_at(data)));
  return {_mm_shuffle_epi32(x, 0), _mm_shuffle_epi32(x, 0x55)};
}
inline Weights weights_at(const int8_t* at) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  return {low_half(bytes), high_half(bytes)};
}
inline Sums dot(Sums sums, const Data& x, const Weights& w) {
  return _mm_add_epi32(sums, _mm_add_epi32(_mm_madd_epi16(x.first, w.first), _mm_madd_epi16(x.last, w.last)));
}
inline void store(int32_t* to, Sums sums) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), sums); }
constexpr auto kArrange = arrange_halves;
#elif defined(__ARM_NEON)
constexpr int kWidth = 4, kMostVectors = 4, kTilePixels = 4;
constexpr bool kSigned = true;
using Sums = int32x4_t;
using Weights = int8x16_t;
using Data = int8x16_t;
inline Data spread(const uint8_t* data) { return vreinterpretq_s8_s32(vdupq_n_s32(four_at(data))); }
inline Weights weights_at(const int8_t* at) { return vld1q_s8(at); }
#if defined(__ARM_FEATURE_DOTPROD)
inline Sums dot(Sums sums, const Data& x, const Weights& w) { return vdotq_s32(sums, w, x); }
constexpr auto kArrange = arrange_plain<16>;
#else
// A pair in 16 bits is at most 2 * 128 * 127.
inline Sums dot(Sums sums, const Data& x, const Weights& w) {
  const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(w));
  const int16x8_t high = vmull_s8(vget_high_s8(x), vget_high_s8(w));
  const int16x4_t a = vpadd_s16(vget_low_s16(low), vget_high_s16(low));
  const int16x4_t b = vpadd_s16(vget_low_s16(high), vget_high_s16(high));
  return vpadalq_s16(sums, vcombine_s16(a, b));
}
constexpr auto kArrange = arrange_plain<16>;
#endif
inline void store(int32_t* to, Sums sums) { vst1q_s32(to, sums); }
#elif defined(__wasm_simd128__)
constexpr int kWidth = 4, kMostVectors = 2, kTilePixels = 4;
constexpr bool kSigned = true;
using Sums = v128_t;
struct Data {
  v128_t first, last;  // pairs of 16 bits
};
struct Weights {
  v128_t first, last;
};
inline Data spread(const uint8_t* data) {
  const v128_t x = wasm_i16x8_extend_low_i8x16(wasm_i32x4_splat(four_at(data)));
  return {wasm_i32x4_shuffle(x, x, 0, 0, 0, 0), wasm_i32x4_shuffle(x, x, 1, 1, 1, 1)};
}
inline Weights weights_at(const int8_t* at) {
  const v128_t bytes = wasm_v128_load(at);
  return {wasm_i16x8_extend_low_i8x16(bytes), wasm_i16x8_extend_high_i8x16(bytes)};
}
inline Sums dot(Sums sums, const Data& x, const Weights& w) {
  return wasm_i32x4_add(
      sums, wasm_i32x4_add(wasm_i32x4_dot_i16x8(x.first, w.first), wasm_i32x4_dot_i16x8(x.last, w.last)));
}
inline void store(int32_t* to, Sums sums) { wasm_v128_store(to, sums); }
constexpr auto kArrange = arrange_halves;
#else
constexpr int kWidth = 4, kMostVectors = 2, kTilePixels = 2;
constexpr bool kSigned = true;
struct Sums {
  int32_t of[4];
};
struct Data {
  int8_t of[4];
};
struct Weights {
  int8_t of[16];
};
inline Data spread(const uint8_t* data) {
  Data made;
  std::memcpy(&made, data, sizeof made);
  return made;
}
inline Weights weights_at(const int8_t* at) {
  Weights made;
  std::memcpy(&made, at, sizeof made);
  return made;
}
inline Sums dot(Sums sums, const Data& x, const Weights& w) {
  for (int filter = 0; filter < 4; ++filter)
    for (int k = 0; k < 4; ++k) sums.of[filter] += int32_t{x.of[k]} * int32_t{w.of[4 * filter + k]};
  return sums;
}
inline void store(int32_t* to, const Sums& sums) { std::memcpy(to, &sums, sizeof sums); }
constexpr auto kArrange = arrange_plain<16>;
#endif

template <int P, int V>
void tile_of(int64_t quads, const uint8_t* panel, int64_t panel_row, const int8_t* block, int32_t* sums) {
  Sums all[P][V] = {};
  for (int64_t k = 0; k < quads; ++k, panel += 4, block += V * kWidth * 4) {
    Weights row[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) row[v] = weights_at(block + v * kWidth * 4);
#pragma GCC unroll 6
    for (int p = 0; p < P; ++p) {
      const Data x = spread(panel + p * panel_row);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) all[p][v] = dot(all[p][v], x, row[v]);
    }
  }
#pragma GCC unroll 6
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) store(sums + (p * V + v) * kWidth, all[p][v]);
  }
}

template <int V>
void tile_vectors(bool one_pixel, int64_t vectors, int64_t quads, const uint8_t* panel, int64_t panel_row,
                  const int8_t* block, int32_t* sums) {
  if (vectors == V) {
    const auto run = one_pixel ? tile_of<1, V> : tile_of<kTilePixels, V>;
    return run(quads, panel, panel_row, block, sums);
  }
  if constexpr (V > 1) tile_vectors<V - 1>(one_pixel, vectors, quads, panel, panel_row, block, sums);
}

// Products fit in 16 bits: 255 * 127.
template <class T>
void channels_of(int64_t count, int64_t taps, const uint8_t* const* places, const int8_t* weight,
                 int64_t weight_row, int32_t* sums) {
  for (int64_t c = 0; c < count; ++c) sums[c] = 0;
  for (int64_t tap = 0; tap < taps; ++tap, weight += weight_row) {
    if (!places[tap]) continue;  // beyond the image
    const T* const data = reinterpret_cast<const T*>(places[tap]);
#pragma omp simd
    for (int64_t c = 0; c < count; ++c)
      sums[c] += static_cast<int16_t>(static_cast<int16_t>(data[c]) * static_cast<int16_t>(weight[c]));
  }
}
void channels(bool is_signed, int64_t count, int64_t taps, const uint8_t* const* places, const int8_t* weight,
              int64_t weight_row, int32_t* sums) {
  if (is_signed) channels_of<int8_t>(count, taps, places, weight, weight_row, sums);
  else channels_of<uint8_t>(count, taps, places, weight, weight_row, sums);
}

void turn(const uint8_t* from, int64_t count, uint8_t flip, uint8_t* to) {
  if (flip == 0) {
    std::memcpy(to, from, static_cast<size_t>(count));
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] ^ flip;
}

constexpr int64_t kMostFilters = kWidth * kMostVectors;

template <class T>
void add_to(float* values, int64_t count, const T* added, float scale) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) values[i] += static_cast<float>(added[i]) * scale;
}

void close(const int32_t* sums, int64_t count, const WholeClosing& c, void* out) {
  float values[kMostClosed];
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    values[i] = (static_cast<float>(sums[i] + c.even[i]) + c.bias[i]) * c.scale[i];
  if (c.added && c.added_is_signed)
    add_to(values, count, reinterpret_cast<const int8_t*>(c.added), c.added_scale);
  else if (c.added) add_to(values, count, c.added, c.added_scale);
  if (c.out_type == DType::float32) {
    float* const to = static_cast<float*>(out);
    for (int64_t i = 0; i < count; ++i) to[i] = c.relu && values[i] < 0 ? 0.0f : values[i];
    return;
  }
  constexpr float kRounder = 12582912.0f;  // as in to_whole
  const float low = c.out_type == DType::int8 && !c.relu ? -127.0f : 0.0f;
  const float high = c.out_type == DType::int8 ? 127.0f : 255.0f;
  auto* const to = static_cast<uint8_t*>(out);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float within = values[i] < low ? low : values[i] > high ? high : values[i];
    to[i] = static_cast<uint8_t>(static_cast<int32_t>(within + kRounder - kRounder));
  }
}

}  // namespace

template <>
const WholeTiles& compiled_loops() {
  static constexpr WholeTiles made{kWidth,   kMostFilters, kTilePixels,
                                   kSigned,  kArrange,     tile_vectors<kMostVectors>,
                                   channels, turn,         close};
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
