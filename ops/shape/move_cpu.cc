// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "ops/elemwise/apply.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/plans.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void sum_axes(const TensorView& grad, Shape shape, const AxisSet& axes, const TensorView& y,
              const KernelArgs& args) {
  TensorView view = grad;
  view.shape = std::move(shape);
  if (view.size() == 0) return apply_fill(0, y, args);
  reduce_array(reduction_code<fn::Sum>, Finish::none, view, axes, y, args);
}

// Calls fn(padded, inner) for the rows [begin, end) of the padded array: offsets of a row's start in the padded array and
// of the row that it shows in the inner one, which is -1 outside.
template <class Fn>
void for_pad_rows(const PadParams& p, const Shape& inner, const Shape& padded, int64_t begin, int64_t end,
                  Fn&& fn) {
  const int last = padded.ndim() - 1;
  const Strides strides(inner);
  // Where the index along an axis shows, in elements; negative outside.
  const auto source = [&](int axis, int64_t index) {
    return pad_source(p.mode, index - p.pad_width[2 * axis], inner[axis]) * strides[axis];
  };
  const int64_t plane_rows = last > 0 ? padded[last - 1] : 1;
  for (int64_t row = begin; row < end;) {
    int64_t plane = row / plane_rows, offset = 0;
    bool inside = true;
    for (int axis = last - 2; axis >= 0; --axis, plane /= padded[axis + 1]) {
      const int64_t from = source(axis, plane % padded[axis]);
      inside &= from >= 0;
      offset += from;
    }
    const int64_t after = std::min(end, (row / plane_rows + 1) * plane_rows);
    for (int64_t i = row % plane_rows; row < after; ++row, ++i) {
      const int64_t from = last > 0 ? source(last - 1, i) : 0;
      fn(row * padded[last], inside && from >= 0 ? offset + from : -1);
    }
  }
}

// Where rows of the inner array show in the padded one.
struct PadRows {
  PadMode mode;
  const Shape& pad_width;
  const Shape& inner;
  const Shape& padded;

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
    const PadPlaces places(mode, index[axis], pad_width[2 * axis], inner[axis], padded[axis]);
    for (int64_t i = 0; i < places.count(); ++i)
      each_row_from(axis + 1, index, row * padded[axis] + places[i], fn);
  }
};

template <class P, StridedCopy (*Plan)(const P&, const Shape&)>
void move_cpu(const P& p, const KernelArgs& args) {
  copy_strided(Plan(p, args.in[0].shape), args.in[0], args.out[0], args);
}

void backward_tile_cpu(const TileParams& p, const KernelArgs& args) {
  const Shape& x = args.out[0].shape;
  sum_axes(args.in[0], tiled(p, x), tiled_axes(p, x), args.out[0], args);
}

size_t backward_tile_scratch(const TileParams& p, const KernelSpec& spec) {
  return reduce_scratch(tiled(p, spec.out[0].shape), tiled_axes(p, spec.out[0].shape));
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
    engine::parallel_for(*args.context, y.size() / width, loop_grain(width), [&](int64_t begin, int64_t end) {
      for_pad_rows(p, x.shape, y.shape, begin, end, fill_row);
    });
  });
}

void backward_pad_cpu(const PadParams& p, const KernelArgs& args) {
  const TensorView& grad = args.in[0];
  const TensorView& y = args.out[0];
  if (y.shape.ndim() == 0) return apply_convert(grad, y, args);
  if (p.mode == PadMode::constant) return copy_strided(unpad_plan(p, grad.shape, y.shape), grad, y, args);
  const int last = y.shape.ndim() - 1;
  const int64_t width = y.shape[last], before = p.pad_width[2 * last];
  const PadRows rows{p.mode, p.pad_width, y.shape, grad.shape};
  dispatch_all(y.dtype, "Pad", [&]<class T>(Type<T>) {
    using Sum = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
    using Wide = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, Sum, float>;
    const T* const from = grad.as<T>();
    T* const to = y.mutable_as<T>();
    engine::parallel_each(*args.context, y.size() / width, loop_grain(width), [&](int64_t row) {
      for (int64_t first = 0; first < width; first += kLoopBlock) {
        const int64_t count = std::min(kLoopBlock, width - first);
        Sum sums[kLoopBlock] = {};
        rows.each_row(row, [&](int64_t padded) {
          const T* const line = from + padded * grad.shape[last];
          const T* const own = line + before + first;
#pragma omp simd
          for (int64_t i = 0; i < count; ++i) sums[i] += static_cast<Sum>(own[i]);
          rows.each_border(last, [&](int64_t index, int64_t place) {
            if (index >= first && index < first + count) sums[index - first] += static_cast<Sum>(line[place]);
          });
        });
        for (int64_t i = 0; i < count; ++i)
          to[row * width + first + i] = static_cast<T>(static_cast<Wide>(sums[i]));
      }
    });
  });
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
  for (const char* op :
       {"Reshape", "_np_reshape", "_npx_reshape", "Flatten", "reshape_like", "expand_dims", "squeeze"})
    table.kernel<convert_cpu>(op, "copy_cpu");
  table.kernel<move_cpu<TransposeParams, transpose_plan>>("transpose", "permute_cpu");
  table.kernel<move_cpu<SwapAxisParams, swap_axis_plan>>("SwapAxis", "permute_cpu");
  table.kernel<move_cpu<ReverseParams, reverse_plan>>("reverse", "reverse_cpu");
  table.kernel<move_cpu<TileParams, tile_plan>>("tile", "tile_cpu");
  table.kernel<move_cpu<RepeatParams, repeat_plan>>("repeat", "repeat_cpu");
  table.kernel<pad_cpu>("Pad", "pad_cpu");
  table.kernel<move_cpu<BlockParams, depth_to_space_plan>>("depth_to_space", "permute_cpu");
  table.kernel<move_cpu<BlockParams, space_to_depth_plan>>("space_to_depth", "permute_cpu");
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
