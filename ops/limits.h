// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu_caches.h"
#include "ops/isa.h"

// From which sizes on one way of computing is faster than another, by the processor's caches and its level of instructions.
// The numbers were found with benchmarks/limits.py and bench_limits; ops/README.md has what they said.
namespace loomix::ops {

struct CacheLimits {
  // Outputs of so many bytes, of which the last cache holds little when their reader comes, are written to memory past it.
  int64_t streamed_bytes;
  // What all arrays of a pass over several operators have of one block: a little more than the first cache holds, so that
  // there are fewer calls of kernels.
  int64_t fused_block_bytes;
  // A weight of more bytes is read from memory in each call.
  int64_t kept_weight_bytes;
  // Depth of panels of a matrix product that stay in the second cache.
  int64_t panel_depth;
  // Channels by filters whose sums of Winograd's gradient stay in the second cache.
  int64_t winograd_sums;
};

constexpr CacheLimits limits_of(const CacheSizes& caches) {
  return {.streamed_bytes = caches.last / 16 * 3,
          .fused_block_bytes = caches.first / 2 * 3,
          .kept_weight_bytes = caches.last / 4,
          .panel_depth = caches.second / 512,
          .winograd_sums = caches.second / 4};
}

inline const CacheLimits& cache_limits() {
  static const CacheLimits limits = limits_of(cache_sizes());
  return limits;
}

// How much work pays for what it takes to begin it another way. Handing a piece to another core takes the same time at each
// level, in which a core multiplies more at a higher one. A number is every level's unless the level's row has its own.
struct WorkLimits {
  // Of a product of matrices: one of fewer is faster on one thread.
  double team_flops = 400'000;
  // Of a block of a product that is cut by its shape, and of one of bfloat16 that oneDNN multiplies.
  double block_flops = 16e6;
  double bfloat16_block_flops = 4e6;
  // Of the small matrices of a batch, for one thread.
  double matrix_flops = 50'000;
  // Multiplications or sums of plain loops for one thread.
  int64_t loop_steps = 100'000;
  // Elements for one thread: of elementwise loops, of loops that round or read 8 bits, and of optimizers' updates.
  int64_t loop_elements = 32'768;
  int64_t quantized_elements = 4096;
  int64_t update_elements = 16'384;
  // Of a convolution that may well be cut into too few pieces for all cores.
  double one_core_flops = 2e6;
  // A convolution of fewer is over before oneDNN has begun: its descriptions, copies and sums of parts take 10 us in a gradient.
  double primitive_flops = 200'000;
  // A 1 x 1 convolution with fewer weights is not worth the copies into oneDNN's layout.
  int64_t pointwise_weights = 8192;
  // Weights of a convolution that fewer pixels use are read in place: a packed copy, which takes as much memory again, hardly
  // pays.
  int64_t packed_pixels = 512;
  // Of a piece of an unfolded image from which a weight's gradient is summed: it stays in the second cache.
  int64_t unfolded_floats = 65'536;
  // Panels of data are slower than oneDNN's product from more rows on, and for fewer hidden units.
  int64_t panel_rows = 512;
  int64_t panel_hidden = 64;
  // Of the sums of a product of two matrices with few rows: with more terms BLAS is as fast.
  int64_t short_sum_terms = 256;
};

inline constexpr WorkLimits kWorkLimits[] = {
    {},                      // base
    {},                      // AVX2
    {.short_sum_terms = 0},  // AVX-512: oneDNN's product fills nothing with zeros
};

constexpr const WorkLimits& limits_of(Isa isa) { return kWorkLimits[static_cast<size_t>(isa)]; }
const WorkLimits& work_limits();
// So many items of `elements` each, or items that cost as much, are worth another core.
int64_t loop_grain(int64_t elements = 1);

}  // namespace loomix::ops
