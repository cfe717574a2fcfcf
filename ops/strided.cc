// SPDX-License-Identifier: Apache-2.0
#include "ops/strided.h"

#include <algorithm>
#include <cstdlib>

#include "engine/parallel_for.h"

namespace loomix::ops {
namespace {

constexpr int64_t kCopyGrain = 32768;  // elements that are worth another core
constexpr int64_t kTile = 16;

// Drops axes of size 1 and joins neighbours that are contiguous in both layouts.
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
    std::fill_n(to, count, *from);
  } else if (to_step == 1 && from_step == -1) {
    std::reverse_copy(from - count + 1, from + 1, to);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
  }
}

// The two innermost axes, of which one is contiguous in `to` and the other in `from`: tiles keep both in the cache.
template <class T>
void copy_tile(T* to, const T* from, const StridedCopy& plan, int64_t begin, int64_t end) {
  const int rows = plan.ndim - 2, columns = plan.ndim - 1;
  const int64_t width = plan.size[columns];
  for (int64_t column = 0; column < width; column += kTile) {
    const int64_t last = std::min(column + kTile, width);
    for (int64_t row = begin; row < end; ++row) {
      T* t = to + row * plan.to_stride[rows];
      const T* f = from + row * plan.from_stride[rows];
      for (int64_t i = column; i < last; ++i)
        t[i * plan.to_stride[columns]] = f[i * plan.from_stride[columns]];
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

int64_t items_of(const StridedCopy& plan, int axes) {
  int64_t count = 1;
  for (int axis = 0; axis < axes; ++axis) count *= plan.size[axis];
  return count;
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
  const bool transposes = plan.to_stride[inner] == 1 && std::abs(plan.from_stride[inner]) > 1 &&
                          std::abs(plan.from_stride[inner - 1]) == 1;
  if (transposes) {
    const int64_t height = plan.size[inner - 1];
    const int64_t strips = (height + kTile - 1) / kTile;
    engine::parallel_for(*args.context, items_of(plan, inner - 1) * strips,
                         std::max<int64_t>(1, kCopyGrain / (kTile * width)), [&](int64_t begin, int64_t end) {
                           for (int64_t i = begin; i < end; ++i) {
                             const auto [to_at, from_at] = offsets_of(plan, inner - 1, i / strips);
                             const int64_t row = i % strips * kTile;
                             copy_tile(to + to_at, from + from_at, plan, row, std::min(height, row + kTile));
                           }
                         });
    return;
  }
  engine::parallel_for(*args.context, items_of(plan, inner), std::max<int64_t>(1, kCopyGrain / width),
                       [&](int64_t begin, int64_t end) {
                         const int64_t last_size = plan.size[inner - 1];
                         for (int64_t i = begin; i < end;) {
                           auto [to_at, from_at] = offsets_of(plan, inner, i);
                           const int64_t stop = std::min(end, (i / last_size + 1) * last_size);
                           for (; i < stop; ++i) {
                             copy_row(to + to_at, plan.to_stride[inner], from + from_at,
                                      plan.from_stride[inner], width);
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

void copy_strided(StridedCopy plan, const TensorView& from, const TensorView& to, const KernelArgs& args) {
  if (items_of(plan, plan.ndim) == 0) return;
  simplify(plan);
  // The axis that is contiguous in `to` goes innermost, and the one that is so in `from` beside it.
  const int inner = plan.ndim - 1;
  for (int axis = 0; axis < inner; ++axis) {
    if (plan.to_stride[inner] != 1 && plan.to_stride[axis] == 1) swap_axes(plan, axis, inner);
  }
  for (int axis = 0; axis < inner - 1; ++axis) {
    if (std::abs(plan.from_stride[inner]) > 1 && std::abs(plan.from_stride[axis]) == 1)
      swap_axes(plan, axis, inner - 1);
  }
  dispatch_bits(to.dtype, [&]<class T>(Type<T>) {
    run(plan, static_cast<const T*>(from.data), static_cast<T*>(to.data), args);
  });
}

}  // namespace loomix::ops
