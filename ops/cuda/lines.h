// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/axis_split.h"
#include "ops/cuda/index.h"
#include "ops/cuda/reduce.h"

// Kernels that work on lines of an array, along one axis. The threads of a line are threadIdx.x: one where neighbouring lines are
// neighbours in memory, else a warp or a block; threadIdx.y counts the lines of a block.
namespace loomix::cuda {

// Lines of `size` elements, inner.divisor() apart.
struct Lines {
  int64_t count = 0, size = 0;
  Divider inner;

  Lines() = default;
  explicit Lines(const ops::AxisSplit& split) : count(split.lines()), size(split.size), inner(split.inner) {}
  __device__ int64_t start(int64_t line) const {
    const int64_t outer = inner.quotient(line);
    return outer * size * inner.divisor() + line - outer * inner.divisor();
  }
  // The place of element i of the line that starts at `first`.
  __device__ int64_t at(int64_t first, int64_t i) const { return first + i * inner.divisor(); }
  Grid grid() const { return grid_with(lanes()); }
  Grid grid_with(int lanes) const {
    constexpr int kBlock = 256;
    const int rows = lanes >= kBlock ? 1 : kBlock / lanes;
    Grid grid = grid_for(count, rows);
    grid.threads = dim3(static_cast<unsigned>(lanes), static_cast<unsigned>(rows));
    return grid;
  }

 private:
  int lanes() const {
    constexpr int64_t kManyLines = 16384;
    if (size < 8 || (inner.divisor() > 1 && (count >= kManyLines || size < 128))) return 1;
    return size <= 1024 ? kWarp : size <= 8192 ? 256 : 1024;
  }
};

// fn(line, place of its first element) for the lines of this thread. All threads of a line call it together.
template <class Fn>
__device__ void each_line(const Lines& lines, Fn fn) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  for (int64_t line = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; line < lines.count;
       line += step)
    fn(line, lines.start(line));
}

// Merges the values of the threads of a line; each gets the result.
template <class T, class Merge>
__device__ T merge_line(T value, T neutral, Merge merge) {
  if (blockDim.x == 1) return value;
  if (blockDim.x == kWarp) return merge_warp(value, merge);
  return merge_block(value, neutral, merge);
}

// The sum of fn(i) over the first `count` elements of a line.
template <class A, class Fn>
__device__ A sum_line(int64_t count, Fn fn) {
  A sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += fn(i);
  return merge_line(sum, A(0), Plus());
}

}  // namespace loomix::cuda
