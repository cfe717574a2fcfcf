// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/cuda/reduce.h"

namespace loomix::cuda {

// fn(i) for each i below `count`, by a warp.
template <class Fn>
__global__ void warps_kernel(int64_t count, Fn fn) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; i < count; i += step) fn(i);
}
template <class Fn>
void launch_warps(cudaStream_t stream, int64_t count, Fn fn) {
  constexpr int kWarps = kThreads / kWarp;
  const Grid grid{grid_for(count, kWarps).blocks, dim3(kWarp, kWarps)};
  if (count > 0) launch(warps_kernel<Fn>, grid, stream, count, fn);
}

}  // namespace loomix::cuda
