// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "ops/isa.h"
#include "ops/quantization/low_bit_loops.h"
#include "ops/simd_tile.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

typedef int32_t Ints __attribute__((vector_size(kLanes * sizeof(int32_t))));
typedef uint32_t Words __attribute__((vector_size(kLanes * sizeof(uint32_t))));
typedef int32_t LooseInts __attribute__((vector_size(kLanes * sizeof(int32_t)), aligned(1), may_alias));
typedef uint32_t LooseWords __attribute__((vector_size(kLanes * sizeof(uint32_t)), aligned(1), may_alias));

// ---- data that is turned around ----

// A block is what one vector of the weight holds: `kParts` vectors of the data, the numbers of part k 2^(-kBits k) times as large,
// then one of their sums times minus the weight's offset.
template <int kBits>
struct Blocks {
  static constexpr int kParts = 32 / kBits;
  static constexpr int64_t kColumns = kLanes * kParts, kBytes = 4 * kLanes, kFloats = (kParts + 1) * kLanes;
  static constexpr float kOffset = 1 << (kBits - 1);
  static int64_t count(int64_t columns) { return (columns + kColumns - 1) / kColumns; }
};

int64_t turned_size(int bits, int64_t columns) {
  return bits == 8 ? Blocks<8>::count(columns) * Blocks<8>::kFloats
                   : Blocks<4>::count(columns) * Blocks<4>::kFloats;
}

template <int kBits>
void turn_as(int64_t columns, const float* data, float* turned) {
  using B = Blocks<kBits>;
  for (int64_t first = 0; first < columns; first += B::kColumns, turned += B::kFloats) {
    const int64_t used = std::min(B::kColumns, columns - first);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      float sum = 0, factor = 1;
      for (int k = 0; k < B::kParts; ++k) {
        const int64_t i = lane * B::kParts + k;
        const float x = i < used ? data[first + i] : 0.0f;
        sum += x;
        turned[k * kLanes + lane] = k + 1 < B::kParts ? x * factor : x;
        factor /= 1 << kBits;
      }
      turned[B::kParts * kLanes + lane] = -B::kOffset * sum;
    }
  }
}

void turn(int bits, int64_t columns, const float* data, float* turned) {
  if (bits == 8) turn_as<8>(columns, data, turned);
  else turn_as<4>(columns, data, turned);
}

// ---- products ----

// The scales of a block's groups, of which there are `within`, each in the lanes of its group.
Vector spread(const float* scales, int64_t within, [[maybe_unused]] Ints lanes) {
  if (kLanes == 4 || within == 1) return Vector{} + *scales;  // a group has at least 32 numbers
#if defined(__AVX2__)
  const __m128 some = within == 4
                          ? _mm_loadu_ps(scales)
                          : _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales)));
#if defined(__AVX512F__)
  return _mm512_maskz_permutexvar_ps(0xffff, reinterpret_cast<__m512i>(lanes), _mm512_castps128_ps512(some));
#else
  return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(some), reinterpret_cast<__m256i>(lanes));
#endif
#else
  return Vector{};
#endif
}

// What a tile reads: rows of the weight with their scales, and rows of the data.
constexpr int kMost = 4;
struct Sources {
  const uint8_t* rows[kMost];
  const float* scales[kMost];
  const float* data[kMost];
  int64_t ahead;  // bytes from a row to what is read next in its place
};

// How blocks and groups lie to each other: one of the two numbers is 1.
struct Grouping {
  int64_t blocks_a_group, groups_a_block;
  Ints lanes;
};

// totals[r * M + m] += the products of so many whole blocks.
template <int kBits, int R, int M>
void fold(Sources from, int64_t blocks, const Grouping& by, Vector* totals) {
  using B = Blocks<kBits>;
  const Ints lanes = by.lanes;
  Vector all[R][M] = {};
  for (int64_t first = 0; first < blocks; first += by.blocks_a_group) {
    Vector parts[2][R][M] = {};
    for (int64_t b = first; b < std::min(first + by.blocks_a_group, blocks); ++b) {
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        __builtin_prefetch(from.rows[r] + b * B::kBytes + from.ahead, 0, 2);
        Words word = *reinterpret_cast<const LooseWords*>(from.rows[r] + b * B::kBytes);
        if constexpr (kBits == 8) word ^= 0x80808080u;
#pragma GCC unroll 8
        for (int k = 0; k < B::kParts; ++k) {
          const Words masked =
              k + 1 < B::kParts ? word & (((1u << kBits) - 1) << (kBits * k)) : word >> (32 - kBits);
          const Vector number = __builtin_convertvector(reinterpret_cast<Ints>(masked), Vector);
#pragma GCC unroll 4
          for (int m = 0; m < M; ++m)
            parts[k % 2][r][m] +=
                number * *reinterpret_cast<const LooseVector*>(from.data[m] + b * B::kFloats + k * kLanes);
        }
      }
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) {
        const Vector offset =
            *reinterpret_cast<const LooseVector*>(from.data[m] + b * B::kFloats + B::kParts * kLanes);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) parts[1][r][m] += offset;
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vector scale = spread(from.scales[r], by.groups_a_block, lanes);
      from.scales[r] += by.groups_a_block;
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m) all[r][m] += scale * (parts[0][r][m] + parts[1][r][m]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int m = 0; m < M; ++m) totals[r * M + m] += all[r][m];
}

[[gnu::noinline]] float sum_of(const Vector& v) {
  float lanes[kLanes];
  std::memcpy(lanes, &v, sizeof lanes);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  return lanes[0];
}

// One form of a tile.
struct TileForm {
  int rows, data;  // of the weight, of the data
  int64_t block_columns, block_floats;
  void (*fold)(Sources from, int64_t blocks, const Grouping& by, Vector* totals);
};

template <int kBits, int R, int M>
constexpr TileForm kTile{R, M, Blocks<kBits>::kColumns, Blocks<kBits>::kFloats, fold<kBits, R, M>};

// Where rows are missing the last one is computed again.
void multiply(const LowBitWeight& w, int64_t begin, int64_t end, int64_t rows, const float* turned,
              int64_t turned_row, float* out, int64_t out_row) {
  const TileForm& tile = rows == 1     ? w.bits == 8 ? kTile<8, 4, 1> : kTile<4, 4, 1>
                             : w.bits == 8 ? kTile<8, 2, 4>
                                       : kTile<4, 2, 4>;
  constexpr int64_t kBytes = 4 * kLanes;
  const int64_t full = w.row_bytes / kBytes, left = w.row_bytes % kBytes;
  const bool is_row = w.group_size == 0;
  Grouping by{is_row ? std::max<int64_t>(1, full) : std::max<int64_t>(1, w.group_size / tile.block_columns),
              is_row ? 1 : std::max<int64_t>(1, tile.block_columns / w.group_size),
              {}};
  for (int i = 0; i < kLanes; ++i) by.lanes[i] = static_cast<int32_t>(i * by.groups_a_block / kLanes);
  const int64_t last_group = is_row ? 0 : full / by.blocks_a_group * by.groups_a_block;
  Sources from{}, rest{};
  from.ahead = tile.rows * w.row_bytes;
  uint8_t bytes[kMost][kBytes] = {};
  float scales[kMost][4] = {};
  for (int64_t m = 0; m < rows; m += tile.data) {
    for (int i = 0; i < tile.data; ++i) {
      from.data[i] = turned + std::min(m + i, rows - 1) * turned_row;
      rest.data[i] = from.data[i] + full * tile.block_floats;
    }
    for (int64_t h = begin; h < end; h += tile.rows) {
      for (int r = 0; r < tile.rows; ++r) {
        const int64_t row = std::min(h + r, end - 1);
        from.rows[r] = w.rows + row * w.row_bytes;
        from.scales[r] = w.scales + row * w.groups;
        if (left == 0) continue;
        std::memcpy(bytes[r], from.rows[r] + full * kBytes, static_cast<size_t>(left));
        for (int64_t i = 0; i < by.groups_a_block && last_group + i < w.groups; ++i)
          scales[r][i] = from.scales[r][last_group + i];
        rest.rows[r] = bytes[r];
        rest.scales[r] = scales[r];
      }
      Vector totals[kMost * kMost] = {};
      tile.fold(from, full, by, totals);
      if (left > 0) tile.fold(rest, 1, by, totals);
      for (int r = 0; r < tile.rows && h + r < end; ++r)
        for (int i = 0; i < tile.data && m + i < rows; ++i)
          out[(m + i) * out_row + h + r] = sum_of(totals[r * tile.data + i]);
    }
  }
}

void widen(const LowBitWeight& w, int64_t h, float* out) {
  const uint8_t* const row = w.rows + h * w.row_bytes;
  const int64_t size = w.group_size == 0 ? w.columns : w.group_size;
  for (int64_t group = 0; group < w.groups; ++group) {
    const float scale = w.scales[h * w.groups + group];
    const int64_t first = group * size, count = std::min(size, w.columns - first);
    if (w.bits == 8) {
      const auto* const from = reinterpret_cast<const int8_t*>(row) + first;
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) out[first + i] = static_cast<float>(from[i]) * scale;
      continue;
    }
    const uint8_t* const from = row + first / 2;  // groups begin with whole bytes
#pragma omp simd
    for (int64_t i = 0; i < count / 2; ++i) {
      out[first + 2 * i] = static_cast<float>((from[i] & 15) - 8) * scale;
      out[first + 2 * i + 1] = static_cast<float>((from[i] >> 4) - 8) * scale;
    }
    if (count % 2 != 0) out[first + count - 1] = static_cast<float>((from[count / 2] & 15) - 8) * scale;
  }
}

// ---- 8 bits on both sides ----

float round(int64_t columns, const float* data, int8_t* out) {
  constexpr uint32_t kInfinity = 0x7f800000;
  uint32_t most = 0;  // of the magnitudes' bits, where NaN is more than infinite
#pragma omp simd reduction(max : most)
  for (int64_t i = 0; i < columns; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(data[i]) & 0x7fffffff;
    most = bits > most ? bits : most;
  }
  const int64_t padded = (columns + 63) / 64 * 64;
  std::memset(out + columns, 0, static_cast<size_t>(padded - columns));
  const float reach = std::bit_cast<float>(most);
  const float scale = reach / 127.0f;
  if (most >= kInfinity || !(scale >= std::numeric_limits<float>::min())) {
    std::memset(out, 0, static_cast<size_t>(columns));
    return most >= kInfinity ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
  }
  constexpr float kRounder = 12582912.0f;  // as in to_whole
  const float factor = 1.0f / scale;
#pragma omp simd
  for (int64_t i = 0; i < columns; ++i) {
    out[i] = static_cast<int8_t>(static_cast<int32_t>(data[i] * factor + kRounder - kRounder));
  }
  return scale;
}

using WholeFn = void (*)(const int8_t* weight, int64_t weight_row, int64_t begin, int64_t end, int64_t rows,
                         const int8_t* data, int64_t data_row, int64_t count, int32_t* out, int64_t out_row);

#if defined(__AVX512F__)

#define LOOMIX_VNNI_TARGET __attribute__((target("avx512f,avx512bw,avx512vnni")))

[[gnu::noinline]] int32_t sum_of(__m512i v) {
  int32_t lanes[16], sum = 0;
  std::memcpy(lanes, &v, sizeof lanes);
  for (const int32_t lane : lanes) sum += lane;
  return sum;
}

// Weights + 128 are unsigned, as the instruction wants one side; 128 times the data's sum is taken away again.
template <int R, int M>
LOOMIX_VNNI_TARGET void multiply_vnni_by(const int8_t* weight, int64_t weight_row, int64_t begin, int64_t end,
                                         int64_t rows, const int8_t* data, int64_t data_row, int64_t count,
                                         int32_t* out, int64_t out_row) {
  const __m512i flip = _mm512_set1_epi8(-128);
  const __mmask64 rest = ~uint64_t{0} >> ((64 - count % 64) % 64);
  for (int64_t m = 0; m < rows; m += M) {
    const int8_t* x[M];
    __m512i shift[M];
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
      x[i] = data + std::min(m + i, rows - 1) * data_row;
      shift[i] = _mm512_setzero_si512();
    }
    for (int64_t k = 0; k < count; k += 64)
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i)
        shift[i] = _mm512_dpbusd_epi32(shift[i], flip, _mm512_loadu_si512(x[i] + k));
    for (int64_t h = begin; h < end; h += R) {
      const int8_t* w[R];
      __m512i sum[R][M];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        w[r] = weight + std::min(h + r, end - 1) * weight_row;
#pragma GCC unroll 4
        for (int i = 0; i < M; ++i) sum[r][i] = _mm512_setzero_si512();
      }
      for (int64_t k = 0; k < count; k += 64) {
        const __mmask64 mask = k + 64 <= count ? ~uint64_t{0} : rest;
        __m512i number[M];
#pragma GCC unroll 4
        for (int i = 0; i < M; ++i) number[i] = _mm512_loadu_si512(x[i] + k);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
          const __m512i row = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, w[r] + k), flip);
#pragma GCC unroll 4
          for (int i = 0; i < M; ++i) sum[r][i] = _mm512_dpbusd_epi32(sum[r][i], row, number[i]);
        }
      }
      for (int r = 0; r < R && h + r < end; ++r)
        for (int i = 0; i < M && m + i < rows; ++i)
          out[(m + i) * out_row + h + r] = sum_of(_mm512_sub_epi32(sum[r][i], shift[i]));
    }
  }
}

LOOMIX_VNNI_TARGET void multiply_vnni(const int8_t* weight, int64_t weight_row, int64_t begin, int64_t end,
                                      int64_t rows, const int8_t* data, int64_t data_row, int64_t count,
                                      int32_t* out, int64_t out_row) {
  const WholeFn run = rows == 1 ? multiply_vnni_by<4, 1> : multiply_vnni_by<4, 4>;
  run(weight, weight_row, begin, end, rows, data, data_row, count, out, out_row);
}

#endif

#if defined(__AVX2__)

// Pairs of products of 16 bits are added in 32, which holds them.
template <int R>
void multiply_pairs(const int8_t* weight, int64_t weight_row, int64_t begin, int64_t end, int64_t rows,
                    const int8_t* data, int64_t data_row, int64_t count, int32_t* out, int64_t out_row) {
  for (int64_t m = 0; m < rows; ++m) {
    const int8_t* const x = data + m * data_row;
    for (int64_t h = begin; h < end; h += R) {
      const int8_t* w[R];
      __m256i sum[R];
      for (int r = 0; r < R; ++r) {
        w[r] = weight + std::min(h + r, end - 1) * weight_row;
        sum[r] = _mm256_setzero_si256();
      }
      int64_t k = 0;
      for (; k + 16 <= count; k += 16) {
        const auto load = [&](const int8_t* from) {
          return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k)));
        };
        const __m256i number = load(x);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(load(w[r]), number));
      }
      for (int r = 0; r < R && h + r < end; ++r) {
        int32_t lanes[8], all = 0;
        std::memcpy(lanes, &sum[r], sizeof lanes);
        for (const int32_t lane : lanes) all += lane;
        for (int64_t i = k; i < count; ++i) all += x[i] * w[r][i];
        out[m * out_row + h + r] = all;
      }
    }
  }
}

#else

void multiply_plain(const int8_t* weight, int64_t weight_row, int64_t begin, int64_t end, int64_t rows,
                    const int8_t* data, int64_t data_row, int64_t count, int32_t* out, int64_t out_row) {
  for (int64_t m = 0; m < rows; ++m) {
    const int8_t* const x = data + m * data_row;
    for (int64_t h = begin; h < end; ++h) {
      const int8_t* const w = weight + h * weight_row;
      int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t k = 0; k < count; ++k) sum += x[k] * w[k];
      out[m * out_row + h] = sum;
    }
  }
}

#endif

// ---- two sides that are rounded in each run ----

constexpr int kPanelVectors = 2, kPanelRows = kPanelVectors * kLanes;

void widen_row(const int8_t* whole, int64_t count, int16_t* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = whole[i];
}

// Lanes hold two numbers of 16 bits each, whose products are added.
Ints add_pairs(Ints sum, Ints a, Ints b) {
#if defined(__AVX512F__)
  return sum + reinterpret_cast<Ints>(
                   _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return sum + reinterpret_cast<Ints>(
                   _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return sum +
         reinterpret_cast<Ints>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return sum + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}

template <int R>
void multiply_panel(const PanelProduct& p, int64_t first, const int16_t* panel, int64_t column, bool add) {
  const int16_t* left[R];
  Ints sums[R][kPanelVectors] = {};
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) left[r] = p.left + std::min(first + r, p.rows - 1) * p.left_row;
  for (int64_t k = 0; k < p.pairs; ++k) {
    Ints right[kPanelVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kPanelVectors; ++v)
      right[v] = *reinterpret_cast<const LooseInts*>(panel + 2 * (k * kPanelRows + v * kLanes));
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      int32_t pair;
      std::memcpy(&pair, left[r] + 2 * k, sizeof pair);
#pragma GCC unroll 2
      for (int v = 0; v < kPanelVectors; ++v) sums[r][v] = add_pairs(sums[r][v], Ints{} + pair, right[v]);
    }
  }
  // Copied with constant places, so that the sums stay in registers till here.
  Ints whole[R][kPanelVectors];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kPanelVectors; ++v) whole[r][v] = sums[r][v];
  const int64_t count = std::min<int64_t>(kPanelRows, p.columns - column);
  const int64_t rows = std::min<int64_t>(R, p.rows - first);
  for (int64_t r = 0; r < rows; ++r) {
    float row[kPanelRows];
    for (int v = 0; v < kPanelVectors; ++v) {
      const Vector scale = *reinterpret_cast<const LooseVector*>(p.right_scales + column + v * kLanes);
      *reinterpret_cast<LooseVector*>(row + v * kLanes) =
          __builtin_convertvector(whole[r][v], Vector) * p.left_scales[first + r] * scale;
    }
    float* const out = p.out + (first + r) * p.out_row + column;
    if (add)
      for (int64_t i = 0; i < count; ++i) out[i] += row[i];
    else if (count == kPanelRows) std::memcpy(out, row, sizeof row);
    else std::memcpy(out, row, static_cast<size_t>(count) * sizeof(float));
  }
}

void multiply_panels(const PanelProduct& p, bool add) {
  constexpr int kRows = 4;
  for (int64_t column = 0; column < p.columns; column += kPanelRows) {
    const int16_t* const panel = p.panels + column / kPanelRows * p.panel_size;
    for (int64_t row = 0; row < p.rows; row += kRows) multiply_panel<kRows>(p, row, panel, column, add);
  }
}

WholeFn whole_product() {
#if defined(__AVX512F__)
  if (__builtin_cpu_supports("avx512vnni")) return multiply_vnni;
#endif
#if defined(__AVX2__)
  return multiply_pairs<4>;
#else
  return multiply_plain;
#endif
}

}  // namespace

template <>
const LowBitLoops& compiled_loops() {
  static const LowBitLoops made{turned_size,     turn,       multiply,  widen,          round,
                                whole_product(), kPanelRows, widen_row, multiply_panels};
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
