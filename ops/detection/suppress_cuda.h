// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

#include "ops/cuda/index.h"
#include "ops/cuda/order.h"
#include "ops/cuda/reduce.h"

// Non-maximum suppression. All lists are sorted at once, best first, what does not count last. Then a block goes through its list in
// tiles: within a tile one thread decides by bit masks, and what is kept covers the rest of the list, all threads side by side.
//
// `Boxes` has a type Box, and as device functions
//   bool counts(int64_t place) const;  double or float score(int64_t place) const, a number where it counts
//   Box at(int64_t place) const;  bool covers(const Box& better, const Box& other) const
// with the members `looked_at`, the most of a list that are looked at, and `wanted`, the most that are kept.
namespace loomix::cuda {

// Smaller for the better: those that count are numbers, so no key of them has all bits.
__device__ inline uint64_t descending_key(float score) {
  const unsigned bits = __float_as_uint(score + 0.0f);  // one zero
  return bits >> 31 ? bits : ~bits & 0x7fffffffu;
}
__device__ inline uint64_t descending_key(double score) {
  const auto bits = static_cast<uint64_t>(__double_as_longlong(score + 0.0));
  return bits >> 63 ? bits : ~bits & 0x7fffffffffffffffu;
}

template <int kBits, class Boxes>
struct RankKeys {
  Divider count;
  Boxes boxes;
  uint64_t* keys;
  uint32_t* values;
  __device__ void operator()(int64_t i) const {
    uint64_t key = boxes.counts(i) ? descending_key(boxes.score(i)) : ~uint64_t{0} >> (64 - kBits);
    if constexpr (kBits < 64) key |= static_cast<uint64_t>(count.quotient(i)) << kBits;
    keys[i] = key;
    values[i] = static_cast<uint32_t>(i);
  }
};
struct ListKeys {
  Divider count;
  const uint32_t* values;
  uint64_t* keys;
  __device__ void operator()(int64_t i) const { keys[i] = static_cast<uint64_t>(count.quotient(values[i])); }
};

inline constexpr int kSuppressTile = 64;

// covered[rank]: whether a better one covers it; kept[...]: places in the list of those that are kept, then -1.
template <class Boxes>
__global__ void __launch_bounds__(kThreads)
    suppress_lists(int64_t count, Boxes boxes, const uint32_t* sorted, uint8_t* covered, int32_t* kept) {
  using Box = typename Boxes::Box;
  __shared__ Box tile[kSuppressTile];
  __shared__ unsigned long long meets[kSuppressTile];
  __shared__ unsigned long long chosen;
  __shared__ int kept_count;
  const int64_t start = static_cast<int64_t>(blockIdx.x) * count;
  const int thread = static_cast<int>(threadIdx.x);
  sorted += start;
  covered += start;
  kept += start;
  int own = 0;
  for (int64_t i = thread; i < count; i += kThreads) {
    covered[i] = 0;
    own += boxes.counts(sorted[i]) ? 1 : 0;
  }
  int64_t valid = merge_block(own, 0, Plus{});
  if (valid > boxes.looked_at) valid = boxes.looked_at;
  if (thread == 0) kept_count = 0;
  __syncthreads();
  for (int64_t first = 0; first < valid && kept_count < boxes.wanted; first += kSuppressTile) {
    const int size = valid - first < kSuppressTile ? static_cast<int>(valid - first) : kSuppressTile;
    if (thread < size) tile[thread] = boxes.at(sorted[first + thread]);
    __syncthreads();
    if (thread < size) {
      unsigned long long bits = 0;
      for (int k = 0; k < thread; ++k) {
        if (boxes.covers(tile[k], tile[thread])) bits |= 1ull << k;
      }
      meets[thread] = bits;
    }
    __syncthreads();
    if (thread == 0) {
      chosen = 0;
      for (int k = 0; k < size && kept_count < boxes.wanted; ++k) {
        if (covered[first + k] || (meets[k] & chosen) != 0) {
          covered[first + k] = 1;
          continue;
        }
        chosen |= 1ull << k;
        kept[kept_count++] = static_cast<int32_t>(sorted[first + k] - start);
      }
    }
    __syncthreads();
    for (int64_t i = first + kSuppressTile + thread; i < valid; i += kThreads) {
      if (covered[i]) continue;
      const Box box = boxes.at(sorted[i]);
      for (int k = 0; k < size && !covered[i]; ++k) {
        if ((chosen >> k & 1) != 0 && boxes.covers(tile[k], box)) covered[i] = 1;
      }
    }
    __syncthreads();
  }
  for (int64_t i = kept_count + thread; i < count; i += kThreads) kept[i] = -1;
}

// Scratch memory for lists with so many boxes in all: what is covered, then the sort's.
inline size_t suppress_scratch(int64_t boxes) {
  return ops::aligned(static_cast<size_t>(boxes)) + SortSpace<uint64_t>::bytes(boxes);
}

// Ranks boxes of `lists` lists of `count`; what comes back holds their places, sorted. Scores have kBits bits.
template <int kBits, class Boxes>
SortSpace<uint64_t> rank_boxes(int64_t lists, int64_t count, const Boxes& boxes, std::span<std::byte> scratch,
                               cudaStream_t stream) {
  const int64_t all = lists * count;
  SortSpace<uint64_t> space(scratch.subspan(ops::aligned(static_cast<size_t>(all))), all);
  const int list_bits = std::bit_width(static_cast<uint64_t>(lists - 1));
  launch_each(stream, all, RankKeys<kBits, Boxes>{Divider(count), boxes, space.keys(), space.values()});
  space.sort(kBits < 64 ? kBits + list_bits : 64, stream);
  if (kBits == 64 && lists > 1) {  // equal keys keep their order
    space.turn();
    launch_each(stream, all, ListKeys{Divider(count), space.values(), space.keys()});
    space.sort(list_bits, stream);
  }
  return space;
}

template <class Boxes>
uint8_t* suppress_ranked(int64_t lists, int64_t count, const Boxes& boxes, const SortSpace<uint64_t>& ranked,
                         std::span<std::byte> scratch, int32_t* kept, cudaStream_t stream) {
  auto* const covered = reinterpret_cast<uint8_t*>(scratch.data());
  launch(suppress_lists<Boxes>, {static_cast<unsigned>(lists), kThreads}, stream, count, boxes,
         ranked.sorted_values(), covered, kept);
  return covered;
}

}  // namespace loomix::cuda
