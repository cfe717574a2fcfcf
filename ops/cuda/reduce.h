// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/cuda/stream.h"

// Merging the values of a warp's or a block's threads. `Merge` is a functor of two values; order is fixed, so results do not
// depend on timing. All threads of the warp or block take part.
namespace loomix::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// The value of a lane whose number differs by `mask` in bits: of any type made of words of 4 bytes.
template <class T>
__device__ T shuffle_xor(T value, int mask) {
  static_assert(sizeof(T) % 4 == 0, "shuffles move words of 4 bytes");
  int words[sizeof(T) / 4];
  __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int& word : words) word = __shfl_xor_sync(kAllLanes, word, mask);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

// Every lane gets the merge of all.
template <class T, class Merge>
__device__ T merge_warp(T value, Merge merge) {
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) value = merge(value, shuffle_xor(value, mask));
  return value;
}

// Every thread gets the merge of all; blockDim.x is a multiple of 32, and `neutral` changes nothing. Ends with a barrier, so it
// can be called again at once.
template <class T, class Merge>
__device__ T merge_block(T value, T neutral, Merge merge) {
  __shared__ T of_warps[kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  value = merge_warp(value, merge);
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  value = merge_warp(lane < warps ? of_warps[lane] : neutral, merge);
  __syncthreads();
  return value;
}

struct Plus {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Larger {  // NaN stays
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

}  // namespace loomix::cuda
