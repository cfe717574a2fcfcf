// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/cpu_caches.h"

// From which sizes on one way of computing is faster than another, by the processor's caches. The fractions
// were found with benchmarks/limits.py; ops/README.md has what it said.
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

}  // namespace loomix::ops
