// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/elemwise/apply.h"
#include "ops/elemwise/results.h"
#include "ops/reduce/fold.h"
#include "ops/reduce/reduce.h"

// How work is split depends on shapes alone, never on the cores, so that sums have the same bits every time.
namespace loomix::ops {
namespace {

constexpr int64_t kColumns = 1024;    // accumulators of one pass over columns: 8 KB
constexpr int64_t kChunk = 1 << 17;   // elements of a piece where one output takes very many
constexpr int64_t kMostPieces = 256;  // of all outputs together, which bounds their memory

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
  // A unit is one output, or a strip of them where the innermost axis is kept. Its items, elements or rows of them, are
  // folded in order; where there are few units of very many items, in several pieces side by side.
  int64_t units = 1;
  int64_t width = 1;  // outputs of a unit
  int64_t items = 1;
  int64_t items_a_piece = 1;
  int64_t pieces = 1;

  int64_t outputs() const { return kept.count() * (inner_kept ? inner : 1); }
  int64_t strips() const { return inner_kept ? (inner + kColumns - 1) / kColumns : 1; }
  // For the results of all pieces, accumulators and as many other numbers.
  size_t scratch_bytes() const {
    if (pieces <= 1) return 0;
    return static_cast<size_t>(units * pieces * width + 2 * outputs()) * sizeof(double);
  }
};

void plan_pieces(Plan& plan) {
  plan.units = plan.kept.count() * plan.strips();
  plan.width = plan.inner_kept ? std::min(plan.inner, kColumns) : 1;
  plan.items = plan.reduced.count() * (plan.inner_kept ? 1 : plan.inner);
  plan.items_a_piece = plan.items;
  if (plan.units >= 16 || plan.items * plan.width < 2 * kChunk) return;
  const int64_t least = (plan.items * plan.units + kMostPieces - 1) / kMostPieces;
  plan.items_a_piece = std::max({kChunk / plan.width, least, int64_t{1}});
  if (!plan.inner_kept && plan.inner <= plan.items_a_piece)
    plan.items_a_piece -= plan.items_a_piece % plan.inner;
  plan.pieces = (plan.items + plan.items_a_piece - 1) / plan.items_a_piece;
}

Plan make_plan(const Shape& shape, const AxisSet& axes) {
  Plan plan;
  if (shape.size() == 0) {  // every output is that of an empty row
    int64_t outputs = 1;
    for (int axis = 0; axis < shape.ndim(); ++axis) outputs *= axes[axis] ? 1 : shape[axis];
    plan.kept = {.ndim = 1, .size = {outputs}, .stride = {0}};
    plan.inner = 0;
    plan.per_output = 0;
    plan_pieces(plan);
    return plan;
  }
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
  plan_pieces(plan);
  return plan;
}

// Walks an array block of outputs by block of outputs. For each it calls finish(acc, spare, first, count, sweep): there is
// room for `count` accumulators and as many other numbers, and sweep(pass, origin) folds the block's elements into the
// accumulators, as often as the result takes passes.
class Reducer {
 public:
  Reducer(const TensorView& x, const Plan& plan, const KernelArgs& args) : x_(x), plan_(plan), args_(args) {}

  template <class Finisher>
  void run(const Finisher& finish) const {
    if (plan_.pieces > 1) return run_pieces(finish);
    const int64_t work = std::max<int64_t>(1, plan_.items * plan_.width);
    const int64_t units_a_block =
        plan_.inner_kept ? std::max<int64_t>(1, kColumns / plan_.inner) : kLoopBlock;
    engine::parallel_for(*args_.context, plan_.units, loop_grain(work), [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; unit += units_a_block)
        run_block(unit, std::min(end, unit + units_a_block), finish);
    });
  }

 private:
  template <class Finisher>
  void run_block(int64_t begin, int64_t end, const Finisher& finish) const {
    double acc[kColumns], spare[kColumns];
    const int64_t first = output_of(begin);
    const int64_t count = output_of(end) - first;
    finish(acc, spare, first, count, [&](const Fold& pass, const double* origin) {
      pass.init(acc, count);
      if (!plan_.inner_kept && plan_.kept.ndim <= 1 && plan_.reduced.ndim == 0) {
        const int64_t step = plan_.kept.ndim == 0 ? 0 : plan_.kept.stride[0];
        return pass.rows(acc, at(begin * step), origin, plan_.inner, count, step);
      }
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t i = output_of(unit) - first;
        fold(pass, unit, 0, plan_.items, acc + i, origin ? origin + i : nullptr);
      }
    });
  }

  template <class Finisher>
  void run_pieces(const Finisher& finish) const {
    LOOMIX_INTERNAL_CHECK(args_.scratch.size() >= plan_.scratch_bytes());
    const int64_t outputs = plan_.outputs();
    double* const acc = reinterpret_cast<double*>(args_.scratch.data());
    double* const spare = acc + outputs;
    double* const parts = spare + outputs;
    const auto part = [&](int64_t unit, int64_t piece) {
      return parts + (unit * plan_.pieces + piece) * plan_.width;
    };
    finish(acc, spare, 0, outputs, [&](const Fold& pass, const double* origin) {
      engine::parallel_each(*args_.context, plan_.units * plan_.pieces, 1, [&](int64_t i) {
        const int64_t unit = i / plan_.pieces;
        const int64_t item = i % plan_.pieces * plan_.items_a_piece;
        double* const own = part(unit, i % plan_.pieces);
        pass.init(own, plan_.width);
        fold(pass, unit, item, std::min(plan_.items, item + plan_.items_a_piece), own,
             origin ? origin + output_of(unit) : nullptr);
      });
      for (int64_t unit = 0; unit < plan_.units; ++unit) {
        const int64_t first = output_of(unit);
        const int64_t count = output_of(unit + 1) - first;
        for (int64_t piece = 1; piece < plan_.pieces; ++piece)
          pass.merge(part(unit, 0), part(unit, piece), count);
        std::copy_n(part(unit, 0), count, acc + first);
      }
    });
  }

  // The first output of a unit, or how many there are.
  int64_t output_of(int64_t unit) const {
    if (!plan_.inner_kept) return unit;
    return unit / plan_.strips() * plan_.inner + unit % plan_.strips() * kColumns;
  }

  const char* at(int64_t offset) const { return element(x_, offset); }

  // Some items of a unit.
  void fold(const Fold& pass, int64_t unit, int64_t begin, int64_t end, double* acc,
            const double* origin) const {
    if (plan_.inner_kept) {
      const int64_t column = unit % plan_.strips() * kColumns;
      const int64_t base = plan_.kept.offset(unit / plan_.strips()) + column;
      const int64_t width = std::min(kColumns, plan_.inner - column);
      if (plan_.reduced.ndim == 1) {
        const int64_t step = plan_.reduced.stride[0];
        return pass.columns(acc, at(base + begin * step), origin, width, end - begin, step);
      }
      for_offsets(plan_.reduced, begin, end,
                  [&](int64_t offset) { pass.columns(acc, at(base + offset), origin, width, 1, 0); });
      return;
    }
    const int64_t base = plan_.kept.offset(unit);
    if (begin == 0 && end == plan_.items) {
      for_offsets(plan_.reduced, 0, plan_.reduced.count(),
                  [&](int64_t offset) { pass.rows(acc, at(base + offset), origin, plan_.inner, 1, 0); });
      return;
    }
    while (begin < end) {
      const int64_t from = begin % plan_.inner;
      const int64_t count = std::min(plan_.inner - from, end - begin);
      pass.rows(acc, at(base + plan_.reduced.offset(begin / plan_.inner) + from), origin, count, 1, 0);
      begin += count;
    }
  }

  const TensorView& x_;
  const Plan& plan_;
  const KernelArgs& args_;
};

}  // namespace

size_t reduce_scratch(const Shape& x, const AxisSet& axes) { return make_plan(x, axes).scratch_bytes(); }

void reduce_array(Reduction op, Finish finish, const TensorView& x, const AxisSet& axes, const TensorView& y,
                  const KernelArgs& args) {
  if (y.size() == 0) return;
  const Plan plan = make_plan(x.shape, axes);
  const Fold pass = Fold::exact(op, x.dtype);
  Reducer(x, plan, args).run([&](double* acc, double*, int64_t first, int64_t count, auto&& sweep) {
    sweep(pass, nullptr);
    pass.finish(finish, acc, count, plan.per_output, y, first);
  });
}

void moments_array(const TensorView& x, const AxisSet& axes, const TensorView& mean,
                   const TensorView& variance, const KernelArgs& args) {
  const Plan plan = make_plan(x.shape, axes);
  if (plan.outputs() == 0) return;
  const Fold sum = Fold::exact(reduction_code<fn::Sum>, x.dtype);
  const Fold squares = Fold::floating(reduction_code<fn::SquareDistanceSum>, x.dtype);
  Reducer(x, plan, args).run([&](double* acc, double* means, int64_t first, int64_t count, auto&& sweep) {
    const auto put = [&](const TensorView& y, const double* from) {
      if (y) convert_results(from, y.dtype, mutable_element(y, first), count);
    };
    sweep(sum, nullptr);
    sum.divide(acc, means, count, plan.per_output);
    put(mean, means);
    if (!variance) return;
    sweep(squares, means);
    squares.divide(acc, acc, count, plan.per_output);
    put(variance, acc);
  });
}

}  // namespace loomix::ops
