// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/elemwise/apply.h"
#include "ops/reduce/reduce.h"

// How work is split depends on shapes alone, never on the cores, so that sums have the same bits every time.
namespace loomix::ops {
namespace {

constexpr int64_t kColumns = 1024;      // accumulators of one pass over columns: 8 KB
constexpr int64_t kChunk = 4 * kGrain;  // elements of a partial sum where one output takes very many
constexpr int64_t kRun = 4096;          // elements folded before the result joins the total, for accuracy

// Axes of one kind, outermost first, neighbours merged.
struct Walk {
  int ndim = 0;
  int64_t size[Shape::kMaxDims];
  int64_t stride[Shape::kMaxDims];

  int64_t count() const {
    int64_t product = 1;
    for (int axis = 0; axis < ndim; ++axis) product *= size[axis];
    return product;
  }
  int64_t offset(int64_t i) const {
    int64_t sum = 0;
    for (int axis = ndim - 1; axis >= 0; --axis) {
      sum += i % size[axis] * stride[axis];
      i /= size[axis];
    }
    return sum;
  }
};

// Calls fn(offset) for the items [begin, end) of the walk.
template <class Fn>
void for_offsets(const Walk& walk, int64_t begin, int64_t end, Fn&& fn) {
  if (walk.ndim == 1) {
    for (int64_t i = begin; i < end; ++i) fn(i * walk.stride[0]);
    return;
  }
  for (int64_t i = begin; i < end; ++i) fn(walk.offset(i));
}

struct Plan {
  Walk kept;     // all kept axes but the inner one
  Walk reduced;  // all reduced axes but the inner one
  bool inner_kept = false;
  int64_t inner = 1;  // size of the innermost axis, which is contiguous
  int64_t per_output = 1;
};

Plan make_plan(const Shape& shape, const AxisSet& axes) {
  Plan plan;
  int64_t stride = 1;
  int last = -1;  // kind of the last axis seen: 1 reduced, 0 kept
  const auto push = [&](Walk& walk, int64_t size, int kind) {
    if (kind == last) walk.size[walk.ndim - 1] *= size;
    else {
      walk.size[walk.ndim] = size;
      walk.stride[walk.ndim++] = stride;
    }
  };
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    const int kind = axes[axis];
    if (shape[axis] == 1) continue;
    push(kind ? plan.reduced : plan.kept, shape[axis], kind);
    if (kind) plan.per_output *= shape[axis];
    stride *= shape[axis];
    last = kind;
  }
  for (Walk* walk : {&plan.kept, &plan.reduced}) {
    std::reverse(walk->size, walk->size + walk->ndim);
    std::reverse(walk->stride, walk->stride + walk->ndim);
  }
  for (Walk* walk : {&plan.kept, &plan.reduced}) {
    if (walk->ndim == 0 || walk->stride[walk->ndim - 1] != 1) continue;
    plan.inner = walk->size[--walk->ndim];
    plan.inner_kept = walk == &plan.kept;
  }
  return plan;
}

class Reducer {
 public:
  Reducer(Reduction op, Finish finish, const TensorView& x, const TensorView& y, const Plan& plan,
          const KernelArgs& args)
      : x_(x), y_(y), plan_(plan), args_(args), finish_(finish) {
    const bool direct = x.dtype == DType::float32 || x.dtype == DType::float64 || x.dtype == DType::int64;
    const bool half = x.dtype == DType::float16 || x.dtype == DType::bfloat16;
    via_ = direct ? x.dtype : half ? DType::float32 : DType::float64;
    loops_ = &reduce_loops(op, via_);
  }

  void run() {
    const int64_t groups = plan_.kept.count();
    if (plan_.inner_kept) return columns(groups);
    if (plan_.per_output >= 2 * kChunk && groups < 16) return long_rows(groups);
    engine::parallel_for(*args_.context, groups,
                         std::max<int64_t>(1, kGrain / std::max<int64_t>(plan_.per_output, 1)),
                         [&](int64_t begin, int64_t end) { rows(begin, end); });
  }

 private:
  const char* at(int64_t offset) const { return element(x_, offset); }

  // acc = fold of `count` contiguous elements, or acc[i] with element i.
  void fold_row(double* acc, const char* x, int64_t count) const {
    for (int64_t i = 0; i < count; i += kRun) fold(loops_->row, 0, acc, x, i, std::min(kRun, count - i));
  }
  void fold_into(double* acc, const char* x, int64_t count) const { fold(loops_->into, 1, acc, x, 0, count); }

  void fold(void (*loop)(void*, const void*, int64_t), int64_t acc_step, double* acc, const char* x,
            int64_t first, int64_t count) const {
    const int64_t bytes = size_of(x_.dtype);
    if (via_ == x_.dtype) return loop(acc, x + first * bytes, count);
    alignas(64) double block[kLoopBlock];
    for (int64_t i = 0; i < count; i += kLoopBlock) {
      const int64_t n = std::min(kLoopBlock, count - i);
      convert_row(x_.dtype, x + (first + i) * bytes, via_, block, n);
      loop(acc + i * acc_step, block, n);
    }
  }

  // One output at a time, several outputs a block for the final conversion.
  void rows(int64_t begin, int64_t end) const {
    double acc[kLoopBlock];
    const int64_t runs = plan_.reduced.count();
    for (int64_t first = begin; first < end; first += kLoopBlock) {
      const int64_t n = std::min(kLoopBlock, end - first);
      loops_->init(acc, n);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t base = plan_.kept.offset(first + i);
        for_offsets(plan_.reduced, 0, runs,
                    [&](int64_t offset) { fold_row(acc + i, at(base + offset), plan_.inner); });
      }
      store(acc, first, n);
    }
  }

  // Few outputs of very many elements: partial sums over chunks, merged in order.
  void long_rows(int64_t groups) const {
    const int64_t runs = plan_.reduced.count();
    const int64_t pieces = (plan_.inner + kChunk - 1) / kChunk;  // of a contiguous run
    std::vector<double> partial(static_cast<size_t>(groups * runs * pieces));
    loops_->init(partial.data(), groups * runs * pieces);
    engine::parallel_for(*args_.context, groups * runs * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t piece = i % pieces * kChunk;
        const int64_t run = i / pieces % runs;
        const int64_t offset = plan_.kept.offset(i / pieces / runs) + plan_.reduced.offset(run) + piece;
        fold_row(&partial[static_cast<size_t>(i)], at(offset), std::min(kChunk, plan_.inner - piece));
      }
    });
    for (int64_t group = 0; group < groups; ++group) {
      double* first = &partial[static_cast<size_t>(group * runs * pieces)];
      for (int64_t i = 1; i < runs * pieces; ++i) loops_->merge(first, first + i, 1);
      store(first, group, 1);
    }
  }

  // The innermost axis is kept: rows are added to a row of accumulators.
  void columns(int64_t groups) const {
    const int64_t strips = (plan_.inner + kColumns - 1) / kColumns;
    const int64_t rows = plan_.reduced.count();
    const int64_t units = groups * strips;
    if (units < 16 && plan_.per_output * std::min(plan_.inner, kColumns) >= 2 * kChunk)
      return long_columns(units, strips, rows);
    const int64_t work = std::max<int64_t>(1, plan_.per_output * std::min(plan_.inner, kColumns));
    engine::parallel_for(*args_.context, units, std::max<int64_t>(1, kGrain / work),
                         [&](int64_t begin, int64_t end) {
                           double acc[kColumns];
                           for (int64_t unit = begin; unit < end; ++unit) {
                             const auto [offset, out, width] = strip(unit, strips);
                             loops_->init(acc, width);
                             fold_strip(acc, offset, width, 0, rows);
                             store(acc, out, width);
                           }
                         });
  }

  void long_columns(int64_t units, int64_t strips, int64_t rows) const {
    const int64_t rows_a_piece = std::max<int64_t>(1, kChunk / std::min(plan_.inner, kColumns));
    const int64_t pieces = (rows + rows_a_piece - 1) / rows_a_piece;
    std::vector<double> partial(static_cast<size_t>(units * pieces * kColumns));
    engine::parallel_for(*args_.context, units * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto [offset, out, width] = strip(i / pieces, strips);
        double* acc = &partial[static_cast<size_t>(i * kColumns)];
        const int64_t row = i % pieces * rows_a_piece;
        loops_->init(acc, width);
        fold_strip(acc, offset, width, row, std::min(rows, row + rows_a_piece));
      }
    });
    for (int64_t unit = 0; unit < units; ++unit) {
      const auto [offset, out, width] = strip(unit, strips);
      double* first = &partial[static_cast<size_t>(unit * pieces * kColumns)];
      for (int64_t piece = 1; piece < pieces; ++piece) loops_->merge(first, first + piece * kColumns, width);
      store(first, out, width);
    }
  }

  struct Strip {
    int64_t offset;  // of its first input element
    int64_t out;     // its first output element
    int64_t width;
  };
  Strip strip(int64_t unit, int64_t strips) const {
    const int64_t column = unit % strips * kColumns;
    const int64_t group = unit / strips;
    return {plan_.kept.offset(group) + column, group * plan_.inner + column,
            std::min(kColumns, plan_.inner - column)};
  }
  void fold_strip(double* acc, int64_t base, int64_t width, int64_t begin, int64_t end) const {
    for_offsets(plan_.reduced, begin, end, [&](int64_t offset) { fold_into(acc, at(base + offset), width); });
  }

  void store(double* acc, int64_t first, int64_t count) const {
    const DType held = via_ == DType::int64 ? DType::int64 : DType::float64;
    if (finish_ != Finish::none) {
      convert_row(held, acc, DType::float64, acc, count);
      const double elements = static_cast<double>(plan_.per_output);
      for (int64_t i = 0; i < count; ++i)
        acc[i] = finish_ == Finish::mean ? acc[i] / elements : std::sqrt(acc[i]);
    }
    convert_row(finish_ == Finish::none ? held : DType::float64, acc, y_.dtype, mutable_element(y_, first),
                count);
  }

  const TensorView& x_;
  const TensorView& y_;
  const Plan& plan_;
  const KernelArgs& args_;
  const Finish finish_;
  DType via_;
  const ReduceLoops* loops_;
};

}  // namespace

void reduce_array(Reduction op, Finish finish, const TensorView& x, const AxisSet& axes, const TensorView& y,
                  const KernelArgs& args) {
  if (y.size() == 0) return;
  Plan plan = make_plan(x.shape, axes);
  if (x.size() == 0) {
    plan = Plan{};  // every output is that of an empty row
    plan.kept = {.ndim = 1, .size = {y.size()}, .stride = {0}};
    plan.inner = 0;
    plan.per_output = 0;
  }
  Reducer(op, finish, x, y, plan, args).run();
}

}  // namespace loomix::ops
