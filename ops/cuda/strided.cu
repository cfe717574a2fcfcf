// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/strided.h"

#include "ops/cuda/index.h"
#include "ops/cuda/word.h"

namespace loomix::cuda {
namespace {

using ops::StridedCopy;

constexpr int kTo = 0, kFrom = 1;

Places<2> places_of_axes(const StridedCopy& plan, int axes) {
  Places<2> places;
  places.ndim = std::max(axes, 1);
  places.size[0] = Divider(1);
  places.stride[kTo][0] = places.stride[kFrom][0] = 0;
  for (int axis = 0; axis < axes; ++axis) {
    places.size[axis] = Divider(plan.size[axis]);
    places.stride[kTo][axis] = plan.to_stride[axis];
    places.stride[kFrom][axis] = plan.from_stride[axis];
  }
  return places;
}

template <class T>
__global__ void move_items(int64_t count, Places<2> places, const T* from, T* to) {
  for (const int64_t i : own_items(count)) {
    int64_t at[2];
    places.of(i, at);
    to[at[kTo]] = from[at[kFrom]];
  }
}

template <class T>
__global__ void fill_items(int64_t count, Places<2> places, T item, T* to) {
  for (const int64_t i : own_items(count)) {
    int64_t at[2];
    places.of(i, at);
    to[at[kTo]] = item;
  }
}

// Squares of elements that go through shared memory, so that reads and writes both move neighbours. Lanes move words of at least
// 4 bytes.
template <class T>
struct Tile {
  static constexpr int kWide = sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1;
  static constexpr int kSide = 32 * kWide;
  static constexpr int kRow = kSide + kWide;
  struct alignas(sizeof(T) * kWide) Word {
    T item[kWide];
  };
};

struct TilePlan {
  Places<2> outer;  // of all axes but the last two
  Divider down,
      across;  // tiles along the last but one axis, which is contiguous in `from`, and the last, so in `to`
  int64_t rows, columns;
  int64_t to_step, from_step;  // from row to row in `to`, from column to column in `from`
  bool reads_words, writes_words;
};

template <class T>
__global__ void __launch_bounds__(kThreads) move_tiles(int64_t tiles, TilePlan plan, const T* from, T* to) {
  using Tile = cuda::Tile<T>;
  using Word = typename Tile::Word;
  constexpr int kWide = Tile::kWide, kSide = Tile::kSide, kRow = Tile::kRow;
  alignas(16) __shared__ T tile[kSide * kRow];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int inner = lane * kWide;
  for (int64_t i = blockIdx.x; i < tiles; i += gridDim.x) {
    const int64_t strip = plan.across.quotient(i);
    const int64_t item = plan.down.quotient(strip);
    const int64_t column = (i - strip * plan.across.divisor()) * kSide;
    const int64_t row = (strip - item * plan.down.divisor()) * kSide;
    int64_t at[2];
    plan.outer.of(item, at);
    const T* const source = from + at[kFrom] + row;
    T* const target = to + at[kTo] + column;
    const auto rows = static_cast<int>(min(static_cast<int64_t>(kSide), plan.rows - row));
    const auto columns = static_cast<int>(min(static_cast<int64_t>(kSide), plan.columns - column));
#pragma unroll 4
    for (int c = warp; c < columns; c += kThreads / 32) {
      const T* const line = source + (column + c) * plan.from_step;
      if (plan.reads_words && inner + kWide <= rows) {
        *reinterpret_cast<Word*>(&tile[c * kRow + inner]) = *reinterpret_cast<const Word*>(line + inner);
      } else {
        for (int r = inner; r < min(inner + kWide, rows); ++r) tile[c * kRow + r] = line[r];
      }
    }
    __syncthreads();
#pragma unroll 4
    for (int r = warp; r < rows; r += kThreads / 32) {
      T* const line = target + (row + r) * plan.to_step;
      if (plan.writes_words && inner + kWide <= columns) {
        Word word;
#pragma unroll
        for (int k = 0; k < kWide; ++k) word.item[k] = tile[(inner + k) * kRow + r];
        *reinterpret_cast<Word*>(line + inner) = word;
      } else {
        for (int c = inner; c < min(inner + kWide, columns); ++c) line[c] = tile[c * kRow + r];
      }
    }
    __syncthreads();
  }
}

// Axes beyond what a kernel takes are walked here.
template <class Fn>
void for_outer(StridedCopy plan, Fn&& fn) {
  if (plan.ndim <= kMaxAxes) return fn(plan);
  StridedCopy rest = plan;
  --rest.ndim;
  std::copy_n(plan.size + 1, rest.ndim, rest.size);
  std::copy_n(plan.to_stride + 1, rest.ndim, rest.to_stride);
  std::copy_n(plan.from_stride + 1, rest.ndim, rest.from_stride);
  for (int64_t i = 0; i < plan.size[0]; ++i) {
    for_outer(rest, fn);
    rest.to_offset += plan.to_stride[0];
    rest.from_offset += plan.from_stride[0];
  }
}

// All that a number of words must divide, for words that lie along the last axis: its size, other strides, offsets.
uint64_t extents(const StridedCopy& plan) {
  const int inner = plan.ndim - 1;
  uint64_t bits = static_cast<uint64_t>(plan.size[inner]) | static_cast<uint64_t>(plan.to_offset) |
                  static_cast<uint64_t>(plan.from_offset);
  for (int axis = 0; axis < inner; ++axis)
    bits |= static_cast<uint64_t>(plan.to_stride[axis]) | static_cast<uint64_t>(plan.from_stride[axis]);
  return bits;
}

// Elements of `bytes` become words of the size that is given back, where the last axis is contiguous in both.
int64_t widen(StridedCopy& plan, int64_t bytes, const void* from, const void* to) {
  const int inner = plan.ndim - 1;
  if (plan.to_stride[inner] != 1 || plan.from_stride[inner] != 1) return bytes;
  const int64_t wide = common_bytes(extents(plan) * static_cast<uint64_t>(bytes) |
                                    reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to));
  const int64_t items = wide / bytes;
  if (items <= 1) return bytes;
  plan.size[inner] /= items;
  plan.to_offset /= items;
  plan.from_offset /= items;
  for (int axis = 0; axis < inner; ++axis) {
    plan.to_stride[axis] /= items;
    plan.from_stride[axis] /= items;
  }
  return wide;
}

constexpr int64_t kTileFrom = 16;  // smaller matrices leave too many lanes of a tile without work

template <class T>
void run_tiles(const StridedCopy& plan, const T* from, T* to, cudaStream_t stream) {
  const int rows = plan.ndim - 2, columns = plan.ndim - 1;
  using Tile = cuda::Tile<T>;
  TilePlan tiles;
  tiles.outer = places_of_axes(plan, plan.ndim - 2);
  tiles.rows = plan.size[rows];
  tiles.columns = plan.size[columns];
  tiles.to_step = plan.to_stride[rows];
  tiles.from_step = plan.from_stride[columns];
  tiles.down = Divider(ceil_divide(tiles.rows, Tile::kSide));
  tiles.across = Divider(ceil_divide(tiles.columns, Tile::kSide));
  uint64_t read = reinterpret_cast<uintptr_t>(from) / sizeof(T) | static_cast<uint64_t>(tiles.from_step);
  uint64_t written = reinterpret_cast<uintptr_t>(to) / sizeof(T) | static_cast<uint64_t>(tiles.to_step);
  for (int axis = 0; axis < rows; ++axis) {
    read |= static_cast<uint64_t>(plan.from_stride[axis]);
    written |= static_cast<uint64_t>(plan.to_stride[axis]);
  }
  tiles.reads_words = read % Tile::kWide == 0;
  tiles.writes_words = written % Tile::kWide == 0;
  const int64_t count = plan.items(rows) * tiles.down.divisor() * tiles.across.divisor();
  launch(move_tiles<T>, {grid_for(count, 1).blocks, kThreads}, stream, count, tiles, from, to);
}

template <class T>
void run(const StridedCopy& plan, const void* from_data, void* to_data, cudaStream_t stream) {
  const T* const from = static_cast<const T*>(from_data) + plan.from_offset;
  T* const to = static_cast<T*>(to_data) + plan.to_offset;
  const int inner = plan.ndim - 1;
  if (plan.transposes() && plan.size[inner] >= kTileFrom && plan.size[inner - 1] >= kTileFrom)
    return run_tiles(plan, from, to, stream);
  const int64_t count = plan.items(plan.ndim);
  launch(move_items<T>, grid_for(count), stream, count, places_of_axes(plan, plan.ndim), from, to);
}

}  // namespace

void copy_strided(StridedCopy given, const TensorView& from, const TensorView& to, cudaStream_t stream) {
  if (given.items(given.ndim) == 0) return;
  given.arrange();
  for_outer(given, [&](StridedCopy plan) {
    const int64_t bytes = widen(plan, size_of(to.dtype), from.data, to.data);
    dispatch_bytes(bytes, [&]<class T>(Type<T>) { run<T>(plan, from.data, to.data, stream); });
  });
}

void fill_strided(StridedCopy given, const ops::Number& number, const TensorView& to, cudaStream_t stream) {
  if (given.items(given.ndim) == 0) return;
  std::fill_n(given.from_stride, given.ndim, 0);
  given.arrange();
  for_outer(given, [&](const StridedCopy& plan) {
    const int64_t count = plan.items(plan.ndim);
    dispatch_bits(to.dtype, [&]<class T>(Type<T>) {
      T item;
      __builtin_memcpy(&item, number.bytes, sizeof(T));
      launch(fill_items<T>, grid_for(count), stream, count, places_of_axes(plan, plan.ndim), item,
             static_cast<T*>(to.data) + plan.to_offset);
    });
  });
}

}  // namespace loomix::cuda
