// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "engine/parallel_for.h"
#include "ops/linear/fully_connected.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// FullyConnected for bfloat16 as fully_connected_loops.h has it for float32: panels of the batch, and the weight read in
// place, once. A unit is two neighbours of a row, which AVX-512 BF16 multiplies and adds up at once.
namespace loomix::ops {
namespace {

#if defined(__x86_64__)

#define LOOMIX_BFLOAT16_TARGET __attribute__((target("avx512f,avx512bf16")))

constexpr int64_t kLanes = 16, kWidth = 2 * kLanes;  // columns of a panel: two vectors
constexpr int64_t kGroup = 96;                       // rows of the weight that use a piece of a panel in turn
constexpr int64_t kPiece = 1 << 16;                  // units, half of a second cache

int64_t panel_columns(int64_t rows) { return rows > kLanes ? kWidth : kLanes; }

void pack(int64_t rows, int64_t units, const bfloat16* data, int64_t begin, int64_t end, uint32_t* panels) {
  for (int64_t first = 0; first < rows; first += kWidth, panels += kWidth * units) {
    const int64_t columns = panel_columns(rows - first), used = std::min(columns, rows - first);
    for (int64_t i = 0; i < columns; ++i) {
      const bfloat16* const row = data + (first + i) * units * 2;
      for (int64_t u = begin; u < end; ++u) {
        uint32_t unit = 0;
        if (i < used) std::memcpy(&unit, row + u * 2, sizeof unit);
        panels[u * columns + i] = unit;
      }
    }
  }
}

// sums (R, kWidth) += weight (R rows, `units` units) x panel (units, V vectors).
template <int R, int V>
LOOMIX_BFLOAT16_TARGET void tile(int64_t units, const bfloat16* weight, int64_t depth, const uint32_t* panel,
                                 float* sums) {
  __m512 sum[R][V];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sum[r][v] = _mm512_loadu_ps(sums + r * kWidth + v * kLanes);
  }
  for (int64_t u = 0; u < units; ++u) {
    __m512bh column[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v)
      column[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(panel + (u * V + v) * kLanes));
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      int pair;
      std::memcpy(&pair, weight + r * depth + u * 2, sizeof pair);
      const __m512bh row = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], row, column[v]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) _mm512_storeu_ps(sums + r * kWidth + v * kLanes, sum[r][v]);
  }
}

template <int V>
void tiles(int64_t count, int64_t units, const bfloat16* weight, int64_t depth, const uint32_t* panel,
           float* sums) {
  int64_t r = 0;
  for (; r + 12 <= count; r += 12) tile<12, V>(units, weight + r * depth, depth, panel, sums + r * kWidth);
  for (; r + 4 <= count; r += 4) tile<4, V>(units, weight + r * depth, depth, panel, sums + r * kWidth);
  for (; r < count; ++r) tile<1, V>(units, weight + r * depth, depth, panel, sums + r * kWidth);
}

// Columns [group, group + count) of out (rows, hidden).
void columns(int64_t rows, int64_t hidden, int64_t units, const uint32_t* panels, const bfloat16* weight,
             const bfloat16* bias, int64_t group, int64_t count, bfloat16* out) {
  alignas(64) float sums[kGroup * kWidth];
  const int64_t depth = units * 2;
  for (int64_t first = 0; first < rows; first += kWidth, panels += kWidth * units) {
    const int64_t width = panel_columns(rows - first), piece = kPiece / width;
    for (int64_t r = 0; r < count; ++r)
      std::fill_n(sums + r * kWidth, kWidth, bias ? static_cast<float>(bias[group + r]) : 0.0f);
    for (int64_t u = 0; u < units; u += piece) {
      const auto run = width == kLanes ? tiles<1> : tiles<2>;
      run(count, std::min(piece, units - u), weight + group * depth + u * 2, depth, panels + u * width, sums);
    }
    const int64_t used = std::min(kWidth, rows - first);
    for (int64_t i = 0; i < used; ++i) {
      bfloat16* const to = out + (first + i) * hidden + group;
      for (int64_t r = 0; r < count; ++r) to[r] = bfloat16(sums[r * kWidth + i]);
    }
  }
}

bool has_instructions() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16"); }

#else

constexpr int64_t kWidth = 1, kGroup = 1;
void pack(int64_t, int64_t, const bfloat16*, int64_t, int64_t, uint32_t*) {}
void columns(int64_t, int64_t, int64_t, const uint32_t*, const bfloat16*, const bfloat16*, int64_t, int64_t,
             bfloat16*) {}
bool has_instructions() { return false; }

#endif

}  // namespace

Support bfloat16_panels_support(const FullyConnectedParams& p, const KernelSpec& spec) {
  constexpr int64_t kFewestRows = 4;
  if (spec.out[0].dtype != DType::bfloat16) return Support::no("it is for bfloat16");
  if (!has_instructions()) return Support::no("this processor has no instructions for bfloat16");
  if (spec.in[1].shape[1] % 2 != 0) return Support::no("the depth is odd");
  return panels_pay(spec.out[0].size() / p.num_hidden, kFewestRows, p.num_hidden);
}

size_t bfloat16_panels_scratch(const FullyConnectedParams& p, const KernelSpec& spec) {
  const int64_t rows = spec.out[0].size() / p.num_hidden;
  return static_cast<size_t>((rows + kWidth - 1) / kWidth * kWidth * spec.in[1].shape[1]) * sizeof(bfloat16);
}

void bfloat16_panels(const FullyConnectedParams& p, const KernelArgs& args) {
  const int64_t hidden = p.num_hidden, rows = args.out[0].size() / hidden, units = args.in[1].shape[1] / 2;
  const auto* const data = args.in[0].as<bfloat16>();
  const auto* const weight = args.in[1].as<bfloat16>();
  const auto* const bias = p.no_bias ? nullptr : args.in[2].as<bfloat16>();
  auto* const out = args.out[0].mutable_as<bfloat16>();
  auto* const panels = reinterpret_cast<uint32_t*>(args.scratch.data());
  constexpr int64_t kPackGrain = 128;
  engine::parallel_for(*args.context, units, kPackGrain,
                       [&](int64_t begin, int64_t end) { pack(rows, units, data, begin, end, panels); });
  engine::parallel_each(*args.context, (hidden + kGroup - 1) / kGroup, 1, [&](int64_t i) {
    const int64_t group = i * kGroup;
    columns(rows, hidden, units, panels, weight, bias, group, std::min(kGroup, hidden - group), out);
  });
}

}  // namespace loomix::ops
