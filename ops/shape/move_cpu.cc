// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "base/inline_vector.h"
#include "ops/elemwise/apply.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/shape.h"
#include "ops/strided.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Output axis i is input axis axes[i].
void permute(const TensorView& x, const TensorView& y, const Shape& x_shape, std::span<const int> axes,
             const KernelArgs& args) {
  const Strides from(x_shape);
  Shape y_shape;
  for (int axis : axes) y_shape.push_back(x_shape[axis]);
  const Strides to(y_shape);
  StridedCopy plan;
  for (int i = 0; i < y_shape.ndim(); ++i)
    plan.add_axis(y_shape[i], to[i], from[axes[static_cast<size_t>(i)]]);
  copy_strided(plan, x, y, args);
}

// x, with reps in front of each of its axes: (reps_0, size_0, reps_1, size_1, ...).
Shape tiled(const TileParams& p, const Shape& x) {
  const int ndim = std::max(x.ndim(), p.reps.ndim());
  Shape shape;
  for (int i = ndim; i >= 1; --i) {
    shape.push_back(i <= p.reps.ndim() ? p.reps[p.reps.ndim() - i] : 1);
    shape.push_back(i <= x.ndim() ? x[x.ndim() - i] : 1);
  }
  return shape;
}

AxisSet tiled_axes(const TileParams& p, const Shape& x) {
  AxisSet axes;
  for (int axis = 0; axis < 2 * std::max(x.ndim(), p.reps.ndim()); axis += 2) {
    axes.set(static_cast<size_t>(axis));
  }
  return axes;
}

// (outer, repeats, inner), where inner is one element for no axis.
Shape repeated(const RepeatParams& p, const Shape& x) {
  if (!p.axis) return {x.size(), p.repeats, 1};
  const int axis = normalize_axis(*p.axis, x.ndim(), "repeat");
  return {x.size_between(0, axis + 1), p.repeats, x.size_between(axis + 1, x.ndim())};
}

constexpr AxisSet kRepeated(0b010);

void sum_axes(const TensorView& grad, Shape shape, const AxisSet& axes, const TensorView& y,
              const KernelArgs& args) {
  TensorView view = grad;
  view.shape = std::move(shape);
  if (view.size() == 0) return apply_fill(0, y, args);
  reduce_array(reduction_code<fn::Sum>, Finish::none, view, axes, y, args);
}

// The element of an axis of `size` that a padded index shows; -1 for the constant.
int64_t pad_source(PadMode mode, int64_t index, int64_t size) {
  if (index >= 0 && index < size) return index;
  if (mode == PadMode::constant) return -1;
  if (mode == PadMode::edge) return index < 0 ? 0 : size - 1;
  return index < 0 ? -index : 2 * (size - 1) - index;
}

// Calls fn(padded, inner) for the rows [begin, end) of the padded array: offsets of a row's start in the padded array and
// of the row that it shows in the inner one, which is -1 outside.
template <class Fn>
void for_pad_rows(const PadParams& p, const Shape& inner, const Shape& padded, int64_t begin, int64_t end,
                  Fn&& fn) {
  const int last = padded.ndim() - 1;
  const Strides strides(inner);
  for (int64_t row = begin; row < end; ++row) {
    int64_t rest = row, offset = 0;
    bool inside = true;
    for (int axis = last - 1; axis >= 0; --axis) {
      const int64_t source = pad_source(p.mode, rest % padded[axis] - p.pad_width[2 * axis], inner[axis]);
      rest /= padded[axis];
      inside &= source >= 0;
      offset += source * strides[axis];
    }
    fn(row * padded[last], inside ? offset : -1);
  }
}

// Where an element of the inner array shows in the padded one, by its edge or its reflection, too.
struct PadPlaces {
  PadMode mode;
  const Shape& pad_width;
  const Shape& inner;
  const Shape& padded;

  // fn(place) for the places of one axis that show its element `index`.
  template <class Fn>
  void each(int axis, int64_t index, Fn&& fn) const {
    const int64_t size = inner[axis], before = pad_width[2 * axis], own = before + index;
    if (mode == PadMode::edge) {
      const int64_t last = index == size - 1 ? padded[axis] - 1 : own;
      for (int64_t place = index == 0 ? 0 : own; place <= last; ++place) fn(place);
      return;
    }
    fn(own);
    const int64_t left = before - index, right = own + 2 * (size - 1 - index);
    if (left >= 0 && left != own) fn(left);
    if (right < padded[axis] && right != own) fn(right);
  }

  // fn(index, place) for the places before and after the array along one axis, with the element that each shows.
  template <class Fn>
  void each_border(int axis, Fn&& fn) const {
    const int64_t before = pad_width[2 * axis], after = before + inner[axis];
    for (int64_t place = 0; place < before; ++place) fn(pad_source(mode, place - before, inner[axis]), place);
    for (int64_t place = after; place < padded[axis]; ++place)
      fn(pad_source(mode, place - before, inner[axis]), place);
  }

  // fn(padded row) for the padded rows that show a row of the inner array.
  template <class Fn>
  void each_row(int64_t row, Fn&& fn) const {
    int64_t index[Shape::kMaxDims];
    for (int axis = inner.ndim() - 2; axis >= 0; --axis) {
      index[axis] = row % inner[axis];
      row /= inner[axis];
    }
    each_row_from(0, index, 0, fn);
  }

 private:
  template <class Fn>
  void each_row_from(int axis, const int64_t* index, int64_t row, Fn&& fn) const {
    if (axis == inner.ndim() - 1) return fn(row);
    each(axis, index[axis],
         [&](int64_t place) { each_row_from(axis + 1, index, row * padded[axis] + place, fn); });
  }
};

void transpose_cpu(const TransposeParams& p, const KernelArgs& args) {
  const int ndim = args.in[0].shape.ndim();
  InlineVector<int, Shape::kMaxDims> axes;
  for (int i = 0; i < ndim; ++i) {
    axes.push_back(p.axes.ndim() == 0 ? ndim - 1 - i : normalize_axis(p.axes[i], ndim, "transpose"));
  }
  permute(args.in[0], args.out[0], args.in[0].shape, axes, args);
}

void swap_axis_cpu(const SwapAxisParams& p, const KernelArgs& args) {
  const int ndim = args.in[0].shape.ndim();
  InlineVector<int, Shape::kMaxDims> axes;
  for (int i = 0; i < ndim; ++i) axes.push_back(i);
  std::swap(axes[static_cast<size_t>(normalize_axis(p.dim1, ndim, "SwapAxis"))],
            axes[static_cast<size_t>(normalize_axis(p.dim2, ndim, "SwapAxis"))]);
  permute(args.in[0], args.out[0], args.in[0].shape, axes, args);
}

void reverse_cpu(const ReverseParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const Strides strides(shape);
  StridedCopy plan;
  for (int axis = 0; axis < shape.ndim(); ++axis) plan.add_axis(shape[axis], strides[axis], strides[axis]);
  for (int64_t given : p.axis) {
    const int axis = normalize_axis(given, shape.ndim(), "reverse");
    plan.from_offset += (shape[axis] - 1) * plan.from_stride[axis];
    plan.from_stride[axis] = -plan.from_stride[axis];
  }
  copy_strided(plan, args.in[0], args.out[0], args);
}

void tile_cpu(const TileParams& p, const KernelArgs& args) {
  const Shape shape = tiled(p, args.in[0].shape);
  const Strides to(shape);
  StridedCopy plan;
  int64_t stride = args.in[0].size();
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const bool moves = axis % 2 == 1;
    if (moves && shape[axis] > 0) stride /= shape[axis];
    plan.add_axis(shape[axis], to[axis], moves ? stride : 0);
  }
  if (plan.ndim == 0) plan.add_axis(1, 1, 1);
  copy_strided(plan, args.in[0], args.out[0], args);
}

void backward_tile_cpu(const TileParams& p, const KernelArgs& args) {
  const Shape& x = args.out[0].shape;
  sum_axes(args.in[0], tiled(p, x), tiled_axes(p, x), args.out[0], args);
}

size_t backward_tile_scratch(const TileParams& p, const KernelSpec& spec) {
  return reduce_scratch(tiled(p, spec.out[0].shape), tiled_axes(p, spec.out[0].shape));
}

void repeat_cpu(const RepeatParams& p, const KernelArgs& args) {
  const Shape shape = repeated(p, args.in[0].shape);
  StridedCopy plan;
  plan.add_axis(shape[0], shape[1] * shape[2], shape[2]);
  plan.add_axis(shape[1], shape[2], 0);
  plan.add_axis(shape[2], 1, 1);
  copy_strided(plan, args.in[0], args.out[0], args);
}

void backward_repeat_cpu(const RepeatParams& p, const KernelArgs& args) {
  sum_axes(args.in[0], repeated(p, args.out[0].shape), kRepeated, args.out[0], args);
}

size_t backward_repeat_scratch(const RepeatParams& p, const KernelSpec& spec) {
  return reduce_scratch(repeated(p, spec.out[0].shape), kRepeated);
}

void pad_cpu(const PadParams& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& y = args.out[0];
  if (y.shape.ndim() == 0) return apply_convert(x, y, args);
  const int last = y.shape.ndim() - 1;
  const int64_t width = y.shape[last];
  const Number number(p.constant_value, y.dtype);
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    T constant;
    std::copy_n(number.bytes, sizeof(T), reinterpret_cast<char*>(&constant));
    const int64_t before = p.pad_width[2 * last], size = x.shape[last];
    const auto fill_row = [&](int64_t padded, int64_t inner) {
      T* to = static_cast<T*>(y.data) + padded;
      if (inner < 0) {
        std::fill_n(to, width, constant);
        return;
      }
      const T* from = static_cast<const T*>(x.data) + inner;
      const auto fill_border = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t source = pad_source(p.mode, i - before, size);
          to[i] = source < 0 ? constant : from[source];
        }
      };
      fill_border(0, before);
      std::copy_n(from, size, to + before);
      fill_border(before + size, width);
    };
    engine::parallel_for(*args.context, y.size() / width, kGrain / width, [&](int64_t begin, int64_t end) {
      for_pad_rows(p, x.shape, y.shape, begin, end, fill_row);
    });
  });
}

void backward_pad_cpu(const PadParams& p, const KernelArgs& args) {
  const TensorView& grad = args.in[0];
  const TensorView& y = args.out[0];
  if (y.shape.ndim() == 0) return apply_convert(grad, y, args);
  if (p.mode == PadMode::constant) {
    const Strides to(y.shape), from(grad.shape);
    StridedCopy plan;
    for (int axis = 0; axis < y.shape.ndim(); ++axis) {
      plan.add_axis(y.shape[axis], to[axis], from[axis]);
      plan.from_offset += p.pad_width[2 * axis] * from[axis];
    }
    return copy_strided(plan, grad, y, args);
  }
  const int last = y.shape.ndim() - 1;
  const int64_t width = y.shape[last], before = p.pad_width[2 * last];
  const PadPlaces places{p.mode, p.pad_width, y.shape, grad.shape};
  dispatch_all(y.dtype, "Pad", [&]<class T>(Type<T>) {
    using Sum = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
    using Wide = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, Sum, float>;
    const T* const from = grad.as<T>();
    T* const to = y.mutable_as<T>();
    engine::parallel_each(*args.context, y.size() / width, kGrain / width, [&](int64_t row) {
      for (int64_t first = 0; first < width; first += kLoopBlock) {
        const int64_t count = std::min(kLoopBlock, width - first);
        Sum sums[kLoopBlock] = {};
        places.each_row(row, [&](int64_t padded) {
          const T* const line = from + padded * grad.shape[last];
          const T* const own = line + before + first;
#pragma omp simd
          for (int64_t i = 0; i < count; ++i) sums[i] += static_cast<Sum>(own[i]);
          places.each_border(last, [&](int64_t index, int64_t place) {
            if (index >= first && index < first + count) sums[index - first] += static_cast<Sum>(line[place]);
          });
        });
        for (int64_t i = 0; i < count; ++i)
          to[row * width + first + i] = static_cast<T>(static_cast<Wide>(sums[i]));
      }
    });
  });
}

void depth_to_space_cpu(const BlockParams& p, const KernelArgs& args) {
  const Shape& in = args.in[0].shape;
  const int64_t b = p.block_size;
  const int axes[] = {0, 3, 4, 1, 5, 2};
  permute(args.in[0], args.out[0], {in[0], b, b, in[1] / (b * b), in[2], in[3]}, axes, args);
}

void space_to_depth_cpu(const BlockParams& p, const KernelArgs& args) {
  const Shape& in = args.in[0].shape;
  const int64_t b = p.block_size;
  const int axes[] = {0, 3, 5, 1, 2, 4};
  permute(args.in[0], args.out[0], {in[0], in[1], in[2] / b, b, in[3] / b, b}, axes, args);
}

// Elements of the diagonal: `matrix` holds it, `line` lists it, along the last axis.
StridedCopy diagonal_plan(const DiagParams& p, const Shape& matrix, bool reads_matrix) {
  const Strides strides(matrix);
  const int rows = normalize_axis(p.axis1, matrix.ndim(), "diag");
  const int columns = normalize_axis(p.axis2, matrix.ndim(), "diag");
  const Diagonal diagonal = diagonal_of(matrix[rows], matrix[columns], p.k);
  Shape line;
  for (int axis = 0; axis < matrix.ndim(); ++axis) {
    if (axis != rows && axis != columns) line.push_back(matrix[axis]);
  }
  line.push_back(diagonal.count);
  const Strides dense(line);
  StridedCopy plan;
  const auto add = [&](int64_t size, int64_t in_line, int64_t in_matrix) {
    plan.add_axis(size, reads_matrix ? in_line : in_matrix, reads_matrix ? in_matrix : in_line);
  };
  for (int axis = 0, at = 0; axis < matrix.ndim(); ++axis) {
    if (axis != rows && axis != columns) add(matrix[axis], dense[at++], strides[axis]);
  }
  add(diagonal.count, 1, strides[rows] + strides[columns]);
  (reads_matrix ? plan.from_offset : plan.to_offset) =
      diagonal.row * strides[rows] + diagonal.column * strides[columns];
  return plan;
}

void take_diagonal(const DiagParams& p, const KernelArgs& args) {
  copy_strided(diagonal_plan(p, args.in[0].shape, true), args.in[0], args.out[0], args);
}

void put_diagonal(const DiagParams& p, const KernelArgs& args) {
  apply_fill(0, args.out[0], args);
  copy_strided(diagonal_plan(p, args.out[0].shape, false), args.in[0], args.out[0], args);
}

void diag_cpu(const DiagParams& p, const KernelArgs& args) {
  if (args.in[0].shape.ndim() > 1) return take_diagonal(p, args);
  put_diagonal({p.k, 0, 1}, args);
}

void backward_diag_cpu(const DiagParams& p, const KernelArgs& args) {
  if (args.out[0].shape.ndim() > 1) return put_diagonal(p, args);
  take_diagonal({p.k, 0, 1}, args);
}

void shape_array_cpu(const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  std::copy(shape.begin(), shape.end(), args.out[0].mutable_as<int64_t>());
}

void size_array_cpu(const KernelArgs& args) { *args.out[0].mutable_as<int64_t>() = args.in[0].shape.size(); }

}  // namespace

void kernels_shape_move(OpTable& table) {
  for (const char* op : {"Reshape", "Flatten", "reshape_like", "expand_dims", "squeeze"})
    table.kernel<convert_cpu>(op, "copy_cpu");
  table.kernel<transpose_cpu>("transpose", "permute_cpu");
  table.kernel<swap_axis_cpu>("SwapAxis", "permute_cpu");
  table.kernel<reverse_cpu>("reverse", "reverse_cpu");
  table.kernel<tile_cpu>("tile", "tile_cpu");
  table.kernel<repeat_cpu>("repeat", "repeat_cpu");
  table.kernel<pad_cpu>("Pad", "pad_cpu");
  table.kernel<depth_to_space_cpu>("depth_to_space", "permute_cpu");
  table.kernel<space_to_depth_cpu>("space_to_depth", "permute_cpu");
  table.kernel<diag_cpu>("diag", "diag_cpu");
  table.kernel<shape_array_cpu>("shape_array", "shape_array_cpu");
  table.kernel<size_array_cpu>("size_array", "size_array_cpu");
}

void gradients_shape_move(OpTable& table) {
  table.kernel<backward_tile_cpu, backward_tile_scratch>("_backward_tile", "reduce_cpu");
  table.kernel<backward_repeat_cpu, backward_repeat_scratch>("_backward_repeat", "reduce_cpu");
  table.kernel<backward_pad_cpu>("_backward_pad", "pad_cpu");
  table.kernel<backward_diag_cpu>("_backward_diag", "diag_cpu");
}

}  // namespace loomix::ops
