// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

// How kernels get onto a stream. Nothing here waits, allocates, or reads the device's memory.
//
// The same sources are compiled for the host, too: tests/standin/device.h, which that build includes before everything else,
// gives the words of CUDA (__global__, threadIdx, __syncthreads, shuffles, atomics) and plays blocks and threads.
namespace loomix::cuda {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) [[likely]]
    return;
  cudaGetLastError();  // what is not sticky must not be blamed on the next call
  detail::throw_error<DeviceError>("[cuda] {} failed: {} ({}).", what, cudaGetErrorString(status),
                                   cudaGetErrorName(status));
}

// Where a kernel runs: blocks, threads a block.
struct Grid {
  dim3 blocks = 1;
  dim3 threads = 1;
};

inline constexpr int kThreads = 256;  // of a block, where nothing asks for another number

constexpr int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Enough blocks for `count` threads' work; kernels step by the whole grid, so more work than fits is done in turns.
inline Grid grid_for(int64_t count, int threads = kThreads) {
  constexpr int64_t kMostBlocks = 1 << 20;
  const int64_t blocks = std::clamp<int64_t>(ceil_divide(count, threads), 1, kMostBlocks);
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(threads)};
}

// Puts `kernel` onto the stream. Arguments are converted to its parameters.
template <class... P, class... A>
void launch(void (*kernel)(P...), const Grid& grid, cudaStream_t stream, A&&... given) {
#ifdef __CUDACC__
  std::tuple<std::remove_cv_t<P>...> values{static_cast<P>(std::forward<A>(given))...};
  std::apply(
      [&](auto&... value) {
        void* pointers[] = {static_cast<void*>(&value)..., nullptr};
        check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid.blocks, grid.threads, pointers, 0,
                               stream),
              "the launch of a kernel");
      },
      values);
#else
  standin::put_grid(stream, grid.blocks, grid.threads,
                    [kernel, ... value = static_cast<P>(std::forward<A>(given))] { kernel(value...); });
#endif
}

// The place of this thread in a grid of one axis, and the number of its threads.
__device__ inline int64_t thread_place() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t thread_count() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

// The items from `first` to `count` that are this thread's: for (int64_t i : own_items(count)).
class OwnItems {
 public:
  __device__ explicit OwnItems(int64_t count) : count_(count) {}
  struct Iterator {
    int64_t i, step;
    __device__ int64_t operator*() const { return i; }
    __device__ void operator++() { i += step; }
    __device__ bool operator!=(int64_t end) const { return i < end; }
  };
  __device__ Iterator begin() const { return {thread_place(), thread_count()}; }
  __device__ int64_t end() const { return count_; }

 private:
  int64_t count_;
};
__device__ inline OwnItems own_items(int64_t count) { return OwnItems(count); }

// fn(i) for each i below `count`, each on a thread of its own: the plain form of a kernel.
template <class Fn>
__global__ void each_kernel(int64_t count, Fn fn) {
  for (const int64_t i : own_items(count)) fn(i);
}
template <class Fn>
void launch_each(cudaStream_t stream, int64_t count, Fn fn) {
  if (count > 0) launch(each_kernel<Fn>, grid_for(count), stream, count, fn);
}

}  // namespace loomix::cuda
