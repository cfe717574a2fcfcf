// SPDX-License-Identifier: Apache-2.0
#include "ops/strided.h"

#include <algorithm>
#include <cstdlib>

#include "engine/parallel_for.h"

namespace loomix::ops {
namespace {

constexpr int64_t kCopyGrain = 32768;  // elements that are worth another core
constexpr int64_t kTile = 16;
constexpr int64_t kPatch = 64;

void simplify(StridedCopy& plan) {
  int kept = 0;
  for (int axis = 0; axis < plan.ndim; ++axis) {
    if (plan.size[axis] == 1) continue;
    const bool joins = kept > 0 && plan.to_stride[kept - 1] == plan.to_stride[axis] * plan.size[axis] &&
                       plan.from_stride[kept - 1] == plan.from_stride[axis] * plan.size[axis];
    if (joins) {
      plan.size[kept - 1] *= plan.size[axis];
    } else {
      plan.size[kept++] = plan.size[axis];
    }
    plan.to_stride[kept - 1] = plan.to_stride[axis];
    plan.from_stride[kept - 1] = plan.from_stride[axis];
  }
  if (kept == 0) {
    plan.size[0] = plan.to_stride[0] = plan.from_stride[0] = 1;
    kept = 1;
  }
  plan.ndim = kept;
}

void swap_axes(StridedCopy& plan, int a, int b) {
  std::swap(plan.size[a], plan.size[b]);
  std::swap(plan.to_stride[a], plan.to_stride[b]);
  std::swap(plan.from_stride[a], plan.from_stride[b]);
}

template <class T>
void copy_row(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t count) {
  if (to_step == 1 && from_step == 1) {
    std::copy_n(from, count, to);
  } else if (to_step == 1 && from_step == 0) {
    const T item = *from;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) to[i] = item;
  } else if (to_step == 1 && from_step == -1) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) to[i] = from[-i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
  }
}

template <class T>
void transpose_tile(const T* from, int64_t from_step, T (&to)[kTile][kTile]) {
  for (int64_t c = 0; c < kTile; ++c) {
    for (int64_t r = 0; r < kTile; ++r) to[r][c] = from[c * from_step + r];
  }
}

// Four words at a time: squares of 4 x 4 by two rounds of interleaving.
void transpose_tile(const uint32_t* from, int64_t from_step, uint32_t (&to)[kTile][kTile]) {
  typedef uint32_t Words __attribute__((vector_size(16), aligned(4)));
  for (int64_t c = 0; c < kTile; c += 4) {
    for (int64_t r = 0; r < kTile; r += 4) {
      Words line[4];
      for (int i = 0; i < 4; ++i) line[i] = *reinterpret_cast<const Words*>(from + (c + i) * from_step + r);
      const Words low02 = __builtin_shufflevector(line[0], line[2], 0, 4, 1, 5);
      const Words high02 = __builtin_shufflevector(line[0], line[2], 2, 6, 3, 7);
      const Words low13 = __builtin_shufflevector(line[1], line[3], 0, 4, 1, 5);
      const Words high13 = __builtin_shufflevector(line[1], line[3], 2, 6, 3, 7);
      *reinterpret_cast<Words*>(&to[r][c]) = __builtin_shufflevector(low02, low13, 0, 4, 1, 5);
      *reinterpret_cast<Words*>(&to[r + 1][c]) = __builtin_shufflevector(low02, low13, 2, 6, 3, 7);
      *reinterpret_cast<Words*>(&to[r + 2][c]) = __builtin_shufflevector(high02, high13, 0, 4, 1, 5);
      *reinterpret_cast<Words*>(&to[r + 3][c]) = __builtin_shufflevector(high02, high13, 2, 6, 3, 7);
    }
  }
}

// One tile: `to` is contiguous along the columns, `from` along the rows. A whole one goes through a buffer, so that each
// line of memory is read and written once.
template <class T>
void copy_tile(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows, int64_t columns) {
  if (rows < kTile || columns < kTile) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) to[r * to_step + c] = from[c * from_step + r];
    }
    return;
  }
  alignas(64) T buffer[kTile][kTile];
  transpose_tile(from, from_step, buffer);
  for (int64_t r = 0; r < kTile; ++r) std::copy_n(buffer[r], kTile, to + r * to_step);
}

// Rows [begin, end) of the two innermost axes, in squares of kPatch elements, which touch few pages, and these in tiles.
template <class T>
void copy_transposed(T* to, const T* from, const StridedCopy& plan, int64_t begin, int64_t end) {
  const int row_axis = plan.ndim - 2, column_axis = plan.ndim - 1;
  const int64_t width = plan.size[column_axis];
  const int64_t to_step = plan.to_stride[row_axis];
  const int64_t from_step = plan.from_stride[column_axis];
  for (int64_t patch = 0; patch < width; patch += kPatch) {
    const int64_t last = std::min(width, patch + kPatch);
    for (int64_t row = begin; row < end; row += kTile) {
      for (int64_t column = patch; column < last; column += kTile) {
        copy_tile(to + row * to_step + column, to_step, from + column * from_step + row, from_step,
                  std::min(kTile, end - row), std::min(kTile, last - column));
      }
    }
  }
}

// Offsets of item i of the product of the first `axes` axes.
std::pair<int64_t, int64_t> offsets_of(const StridedCopy& plan, int axes, int64_t i) {
  int64_t to = plan.to_offset, from = plan.from_offset;
  for (int axis = axes - 1; axis >= 0; --axis) {
    const int64_t index = i % plan.size[axis];
    i /= plan.size[axis];
    to += index * plan.to_stride[axis];
    from += index * plan.from_stride[axis];
  }
  return {to, from};
}

template <class T>
void run(const StridedCopy& plan, const T* from, T* to, const KernelArgs& args) {
  const int inner = plan.ndim - 1;
  const int64_t width = plan.size[inner];
  if (plan.ndim == 1) {
    engine::parallel_for(*args.context, width, kCopyGrain, [&](int64_t begin, int64_t end) {
      copy_row(to + plan.to_offset + begin * plan.to_stride[0], plan.to_stride[0],
               from + plan.from_offset + begin * plan.from_stride[0], plan.from_stride[0], end - begin);
    });
    return;
  }
  if (plan.transposes()) {
    const int64_t height = plan.size[inner - 1];
    const int64_t strips = (height + kPatch - 1) / kPatch;
    engine::parallel_each(
        *args.context, plan.items(inner - 1) * strips, kCopyGrain / (kPatch * width), [&](int64_t i) {
          const auto [to_at, from_at] = offsets_of(plan, inner - 1, i / strips);
          const int64_t row = i % strips * kPatch;
          copy_transposed(to + to_at, from + from_at, plan, row, std::min(height, row + kPatch));
        });
    return;
  }
  engine::parallel_for(*args.context, plan.items(inner), kCopyGrain / width, [&](int64_t begin, int64_t end) {
    const int64_t last_size = plan.size[inner - 1];
    for (int64_t i = begin; i < end;) {
      auto [to_at, from_at] = offsets_of(plan, inner, i);
      const int64_t stop = std::min(end, (i / last_size + 1) * last_size);
      for (; i < stop; ++i) {
        copy_row(to + to_at, plan.to_stride[inner], from + from_at, plan.from_stride[inner], width);
        to_at += plan.to_stride[inner - 1];
        from_at += plan.from_stride[inner - 1];
      }
    }
  });
}

}  // namespace

void StridedCopy::add_axis(int64_t axis_size, int64_t to, int64_t from) {
  size[ndim] = axis_size;
  to_stride[ndim] = to;
  from_stride[ndim++] = from;
}

int64_t StridedCopy::items(int axes) const {
  int64_t count = 1;
  for (int axis = 0; axis < axes; ++axis) count *= size[axis];
  return count;
}

void StridedCopy::arrange() {
  simplify(*this);
  const int inner = ndim - 1;
  for (int axis = 0; axis < inner; ++axis) {
    if (to_stride[inner] != 1 && to_stride[axis] == 1) swap_axes(*this, axis, inner);
  }
  for (int axis = 0; axis < inner - 1; ++axis) {
    if (std::abs(from_stride[inner]) > 1 && std::abs(from_stride[axis]) == 1)
      swap_axes(*this, axis, inner - 1);
  }
}

bool StridedCopy::transposes() const {
  const int inner = ndim - 1;
  return inner > 0 && to_stride[inner] == 1 && std::abs(from_stride[inner]) > 1 &&
         from_stride[inner - 1] == 1;
}

void copy_strided(StridedCopy plan, const TensorView& from, const TensorView& to, const KernelArgs& args) {
  if (plan.items(plan.ndim) == 0) return;
  plan.arrange();
  dispatch_bits(to.dtype, [&]<class T>(Type<T>) {
    run(plan, static_cast<const T*>(from.data), static_cast<T*>(to.data), args);
  });
}

}  // namespace loomix::ops
