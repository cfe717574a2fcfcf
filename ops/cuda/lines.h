// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

#include "ops/axis_split.h"
#include "ops/cuda/elementwise.h"
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

// A dense line that is read once, by accesses of 16 bytes where the arrays are aligned, and kept in the registers of its threads.
// The order of additions does not depend on addresses.
template <class T>
struct KeptLine {
  using A = Computed<T>;
  static constexpr int kPacks = 2, kItems = 16 / sizeof(T);
  A item[kPacks][kItems];

  // Threads of a line of `size` elements; 0: it does not fit.
  static int lanes(int64_t size) {
    if (size % kItems != 0) return 0;
    const int64_t packs = size / kItems;
    return packs <= kPacks * kWarp ? kWarp : packs <= kPacks * 256 ? 256 : packs <= kPacks * 1024 ? 1024 : 0;
  }
  static bool aligned(std::initializer_list<const T*> arrays) {
    for (const T* data : arrays) {
      if (!is_aligned(data, kItems)) return false;
    }
    return true;
  }
  static __device__ int64_t first(int pack) {
    return (static_cast<int64_t>(pack) * blockDim.x + threadIdx.x) * kItems;
  }

  __device__ void read(const T* from, int64_t size, bool is_aligned) {
    each_pack(size, [&](int p, int64_t at) {
      const Pack<T, kItems> pack = read_pack<kItems>(Reader<T>{from}, at, is_aligned);
#pragma unroll
      for (int k = 0; k < kItems; ++k) item[p][k] = load(pack.item[k]);
    });
  }
  // to[i] = fn(p, k), where item[p][k] is element i
  template <class Fn>
  static __device__ void write(T* to, int64_t size, bool is_aligned, Fn fn) {
    each_pack(size, [&](int p, int64_t at) {
      Pack<T, kItems> pack;
#pragma unroll
      for (int k = 0; k < kItems; ++k) pack.item[k] = store<T>(fn(p, k));
      if (is_aligned) {
        *reinterpret_cast<Pack<T, kItems>*>(to + at) = pack;
        return;
      }
#pragma unroll
      for (int k = 0; k < kItems; ++k) to[at + k] = pack.item[k];
    });
  }
  // fn(p, k) for the thread's elements
  template <class Fn>
  static __device__ void each(int64_t size, Fn fn) {
    each_pack(size, [&](int p, int64_t) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) fn(p, k);
    });
  }
  // The sum of fn(p, k) over the line.
  template <class Fn>
  static __device__ A sum(int64_t size, Fn fn) {
    A own = 0;
    each(size, [&](int p, int k) { own += fn(p, k); });
    return merge_line(own, A(0), Plus());
  }

 private:
  template <class Fn>
  static __device__ void each_pack(int64_t size, Fn fn) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int64_t at = first(p);
      if (at < size) fn(p, at);
    }
  }
};

// The sum of fn(i) over the first `count` elements of a line.
template <class A, class Fn>
__device__ A sum_line(int64_t count, Fn fn) {
  A sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += fn(i);
  return merge_line(sum, A(0), Plus());
}

}  // namespace loomix::cuda
