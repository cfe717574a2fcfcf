// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/apply.h"

#include "ops/broadcast.h"

namespace loomix::ops {
namespace {

constexpr int64_t kShortRow = 32;  // rows below are gathered into blocks: a call for each would cost more

// g++ makes no vectors of std::fill.
template <class T>
void fill_run(T* to, int64_t count, T value) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = value;
}

// Brings the operand's elements of some rows into one contiguous piece.
class RowGatherer {
 public:
  RowGatherer(const TensorView& view, const BroadcastPlan& plan, int operand, int64_t first_row)
      : view_(view), plan_(plan), operand_(operand), cursor_(plan, first_row) {
    int64_t elements = 1;
    for (int axis = plan.ndim - 1; axis >= 0; --axis) {
      whole_ &= plan.stride[operand][axis] == elements;
      elements *= plan.size[axis];
    }
    repeats_ = plan.ndim == 2 && plan.stride[operand][0] == 0;
  }

  // Rows [row, row + rows); calls must follow each other.
  const void* next(int64_t row, int64_t rows) {
    if (whole_) return element(view_, row * plan_.row_size());
    if (repeats_ && rows <= gathered_) return buffer_;  // every row is the same
    dispatch_bits(view_.dtype, [&]<class T>(Type<T>) { gather<T>(rows); });
    gathered_ = rows;
    return buffer_;
  }

 private:
  template <class T>
  void gather(int64_t rows) {
    const int64_t size = plan_.row_size();
    const int64_t step = plan_.stride[operand_][plan_.ndim - 1];
    T* out = reinterpret_cast<T*>(buffer_);
    for (int64_t row = 0; row < rows; ++row, cursor_.next()) {
      const T* from = static_cast<const T*>(view_.data) + cursor_.offset(operand_);
      for (int64_t i = 0; i < size; ++i) *out++ = from[i * step];
    }
  }

  const TensorView& view_;
  const BroadcastPlan& plan_;
  const int operand_;
  RowCursor cursor_;
  bool whole_ = true;
  bool repeats_ = false;
  int64_t gathered_ = 0;
  alignas(64) double buffer_[kLoopBlock];
};

// Rows of a few elements each: both operands are laid out over a block, then computed as one row.
void broadcast_short_rows(Binary op, const BroadcastPlan& plan, const TensorView& a, const TensorView& b,
                          const TensorView& y, const KernelArgs& args) {
  const int64_t size = plan.row_size();
  const int64_t rows_a_block = kLoopBlock / size;
  const int64_t blocks = (plan.rows() + rows_a_block - 1) / rows_a_block;
  engine::parallel_for(*args.context, blocks, loop_grain(kLoopBlock), [&](int64_t begin, int64_t end) {
    RowGatherer left(a, plan, 0, begin * rows_a_block);
    RowGatherer right(b, plan, 1, begin * rows_a_block);
    const int64_t last = std::min(end * rows_a_block, plan.rows());
    for (int64_t row = begin * rows_a_block; row < last; row += rows_a_block) {
      const int64_t rows = std::min(rows_a_block, last - row);
      binary_row(op, y.dtype, Spread::none, left.next(row, rows), right.next(row, rows),
                 mutable_element(y, row * size), rows * size);
    }
  });
}

Spread spread_of(const BroadcastPlan& plan) {
  const int inner = plan.ndim - 1;
  if (plan.stride[0][inner] == 0) return Spread::left;
  return plan.stride[1][inner] == 0 ? Spread::right : Spread::none;
}

}  // namespace

void apply_unary(Unary op, const TensorView& x, const TensorView& y, const KernelArgs& args) {
  parallel_blocks(args, y.size(), [&](int64_t begin, int64_t end) {
    unary_row(op, y.dtype, element(x, begin), mutable_element(y, begin), end - begin);
  });
}

void apply_binary(Binary op, const TensorView& a, const TensorView& b, const TensorView& y,
                  const KernelArgs& args) {
  parallel_blocks(args, y.size(), [&](int64_t begin, int64_t end) {
    binary_row(op, y.dtype, Spread::none, element(a, begin), element(b, begin), mutable_element(y, begin),
               end - begin);
  });
}

void apply_scalar(Binary op, Spread side, const TensorView& x, double scalar, const TensorView& y,
                  const KernelArgs& args) {
  const Number number(scalar, y.dtype);
  parallel_blocks(args, y.size(), [&](int64_t begin, int64_t end) {
    const void* data = element(x, begin);
    if (x.dtype != y.dtype) {  // booleans: converted in place
      convert_row(x.dtype, data, y.dtype, mutable_element(y, begin), end - begin);
      data = element(y, begin);
    }
    const void* left = side == Spread::left ? number.bytes : data;
    const void* right = side == Spread::left ? data : number.bytes;
    binary_row(op, y.dtype, side, left, right, mutable_element(y, begin), end - begin);
  });
}

void apply_broadcast(Binary op, const TensorView& a, const TensorView& b, const TensorView& y,
                     const KernelArgs& args) {
  if (a.shape == b.shape) return apply_binary(op, a, b, y, args);
  if (y.size() == 0) return;
  const BroadcastPlan plan = plan_broadcast(y.shape, {&a.shape, &b.shape});
  const Spread spread = spread_of(plan);
  const int64_t size = plan.row_size();
  const int64_t rows = plan.rows();
  if (rows == 1) {
    parallel_blocks(args, size, [&](int64_t begin, int64_t end) {
      binary_row(op, y.dtype, spread, element(a, spread == Spread::left ? 0 : begin),
                 element(b, spread == Spread::right ? 0 : begin), mutable_element(y, begin), end - begin);
    });
    return;
  }
  if (size < kShortRow) return broadcast_short_rows(op, plan, a, b, y, args);
  engine::parallel_for(*args.context, rows, loop_grain(size), [&](int64_t begin, int64_t end) {
    RowCursor cursor(plan, begin);
    for (int64_t row = begin; row < end; ++row, cursor.next()) {
      binary_row(op, y.dtype, spread, element(a, cursor.offset(0)), element(b, cursor.offset(1)),
                 mutable_element(y, row * size), size);
    }
  });
}

void apply_convert(const TensorView& x, const TensorView& y, const KernelArgs& args) {
  parallel_blocks(args, y.size(), [&](int64_t begin, int64_t end) {
    convert_row(x.dtype, element(x, begin), y.dtype, mutable_element(y, begin), end - begin);
  });
}

void apply_broadcast_copy(const TensorView& x, const TensorView& y, const KernelArgs& args) {
  if (x.size() == y.size()) return apply_convert(x, y, args);
  if (y.size() == 0) return;
  const BroadcastPlan plan = plan_broadcast(y.shape, {&x.shape});
  const int64_t size = plan.row_size();
  const bool repeats = plan.stride[0][plan.ndim - 1] == 0;
  const auto copy_rows = [&](int64_t begin, int64_t end) {
    dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
      RowCursor cursor(plan, begin);
      for (int64_t row = begin; row < end; ++row, cursor.next()) {
        const T* from = static_cast<const T*>(x.data) + cursor.offset(0);
        T* to = static_cast<T*>(y.data) + row * size;
        if (repeats) fill_run(to, size, *from);
        else std::copy_n(from, size, to);
      }
    });
  };
  if (plan.rows() > 1 || !repeats) {
    engine::parallel_for(*args.context, plan.rows(), loop_grain(size), copy_rows);
    return;
  }
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    parallel_blocks(args, size, [&](int64_t begin, int64_t end) {
      fill_run(static_cast<T*>(y.data) + begin, end - begin, *static_cast<const T*>(x.data));
    });
  });
}

void apply_broadcast_scalar(Binary op, const TensorView& x, double scalar, const TensorView& y,
                            const KernelArgs& args) {
  if (x.size() == y.size()) return apply_scalar(op, Spread::right, x, scalar, y, args);
  if (y.size() == 0) return;
  const Number number(scalar, y.dtype);
  const BroadcastPlan plan = plan_broadcast(y.shape, {&x.shape});
  const bool repeats = plan.stride[0][plan.ndim - 1] == 0;
  if (plan.rows() == 1 && repeats) {  // one element for all of y
    alignas(8) char value[8];
    binary_row(op, y.dtype, Spread::right, x.data, number.bytes, value, 1);
    return apply_broadcast_copy({value, x.dtype, x.shape}, y, args);
  }
  const int64_t size = plan.row_size();
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    const T* const from = static_cast<const T*>(x.data);
    T* const to = static_cast<T*>(y.data);
    engine::parallel_for(*args.context, plan.rows(), loop_grain(size), [&](int64_t begin, int64_t end) {
      T block[kLoopBlock];
      RowCursor cursor(plan, begin);
      if (repeats) {
        for (int64_t row = begin; row < end; row += kLoopBlock) {
          const int64_t rows = std::min(kLoopBlock, end - row);
          for (int64_t i = 0; i < rows; ++i, cursor.next()) block[i] = from[cursor.offset(0)];
          binary_row(op, y.dtype, Spread::right, block, number.bytes, block, rows);
          for (int64_t i = 0; i < rows; ++i) fill_run(to + (row + i) * size, size, block[i]);
        }
        return;
      }
      const T* in_block = nullptr;  // the row whose results the block holds
      for (int64_t row = begin; row < end; ++row, cursor.next()) {
        const T* const source = from + cursor.offset(0);
        T* const target = to + row * size;
        if (size > kLoopBlock) {
          binary_row(op, y.dtype, Spread::right, source, number.bytes, target, size);
          continue;
        }
        if (source != in_block) binary_row(op, y.dtype, Spread::right, source, number.bytes, block, size);
        in_block = source;
        std::copy_n(block, size, target);
      }
    });
  });
}

void apply_fill(double value, const TensorView& y, const KernelArgs& args) {
  const Number number(value, y.dtype);
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    T bits;
    std::copy_n(number.bytes, sizeof(T), reinterpret_cast<char*>(&bits));
    parallel_blocks(args, y.size(), [&](int64_t begin, int64_t end) {
      fill_run(static_cast<T*>(y.data) + begin, end - begin, bits);
    });
  });
}

}  // namespace loomix::ops
