// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/omp_threads.h"
#include "engine/parallel_for.h"
#include "ops/limits.h"
#include "ops/linear/gemm.h"

namespace loomix::ops {

// Distances between the rows of a product's matrices.
struct Leading {
  int64_t a, b, c;
};

// What decides the number of blocks. A kernel that sums the last rows or columns of its block in another way, as OpenBLAS's
// and oneDNN's for AVX2 do, needs the same blocks for any number of cores, or results would differ.
enum class CutBy { cores, shape };

inline int64_t blocks_wanted(CutBy by, const MatMul& s, int cores, const WorkLimits& limits) {
  constexpr int64_t kBlocksPerCore = 2;  // each packs its rows of A and columns of B
  const double flops = 2.0 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k);
  if (flops < limits.team_flops) return 1;
  if (by == CutBy::shape) return std::clamp<int64_t>(static_cast<int64_t>(flops / limits.block_flops), 4, 16);
  return cores == 1 ? 1 : cores * kBlocksPerCore;
}

// A product as blocks, each by `gemm(shape, leading, a, b, c)` on one thread. Blocks wait for no one, where the threads of
// one BLAS call wait for each other at every panel, which costs a multiple when something else wants a core.
template <class T, class Gemm>
void gemm_by_blocks(const MatMul& s, const T* a, const T* b, T* c, engine::RunContext& context, CutBy by,
                    Gemm&& gemm, const WorkLimits& limits = work_limits()) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) {
    if (!s.add) std::fill_n(c, s.m * s.n, T{0});
    return;
  }
  constexpr int64_t kUnit = 32;  // blocks begin at full vectors
  const Leading ld{s.transpose_a ? s.m : s.k, s.transpose_b ? s.k : s.n, s.n};
  const double m = static_cast<double>(s.m), n = static_cast<double>(s.n);
  engine::set_omp_threads(1);
  if (const int64_t wanted = blocks_wanted(by, s, context.cores, limits); wanted == 1) {
    gemm(s, ld, a, b, c);
  } else {
    const auto units = [](int64_t length) { return (length + kUnit - 1) / kUnit; };
    const int64_t rows = std::clamp<int64_t>(std::llround(std::sqrt(static_cast<double>(wanted) * m / n)), 1,
                                             std::min(wanted, units(s.m)));
    const int64_t columns = std::min((wanted + rows - 1) / rows, units(s.n));
    const auto edge = [&](int64_t i, int64_t parts, int64_t length) {
      return std::min(units(length) * i / parts * kUnit, length);
    };
    engine::parallel_each(context, rows * columns, 1, [&](int64_t block) {
      const int64_t top = edge(block / columns, rows, s.m);
      const int64_t left = edge(block % columns, columns, s.n);
      MatMul part = s;
      part.m = edge(block / columns + 1, rows, s.m) - top;
      part.n = edge(block % columns + 1, columns, s.n) - left;
      gemm(part, ld, a + top * (s.transpose_a ? 1 : s.k), b + left * (s.transpose_b ? s.k : 1),
           c + top * s.n + left);
    });
  }
  engine::set_omp_threads(context.threads);
}

}  // namespace loomix::ops
