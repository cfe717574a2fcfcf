// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/fold.h"

#include <algorithm>
#include <cmath>

#include "ops/elemwise/apply.h"
#include "ops/elemwise/results.h"

namespace loomix::ops {
namespace {

constexpr int64_t kRun = 4096;  // elements folded before the result joins the total, for accuracy

}  // namespace

Fold Fold::exact(Reduction op, DType dtype) {
  if (!is_floating(dtype)) return Fold(op, dtype, DType::int64);
  return Fold(op, dtype, is_half(dtype) ? DType::float32 : dtype);
}

Fold Fold::floating(Reduction op, DType dtype) {
  return is_floating(dtype) ? exact(op, dtype) : Fold(op, dtype, DType::float64);
}

template <class Fn>
void Fold::each_block(const char* x, int64_t first, int64_t count, Fn&& fn) const {
  x += first * size_of(dtype_);
  if (via_ == dtype_) return fn(x, 0, count);
  alignas(64) double block[kLoopBlock];
  for (int64_t i = 0; i < count; i += kLoopBlock) {
    const int64_t n = std::min(kLoopBlock, count - i);
    convert_row(dtype_, x + i * size_of(dtype_), via_, block, n);
    fn(block, i, n);
  }
}

void Fold::rows(double* acc, const char* x, const double* origin, int64_t count, int64_t rows,
                int64_t step) const {
  if (via_ == dtype_ && count <= kRun) return loops_->rows(acc, x, origin, count, rows, step);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < count; i += kRun) {
      each_block(x + row * step * size_of(dtype_), i, std::min(kRun, count - i),
                 [&](const void* block, int64_t, int64_t n) {
                   loops_->rows(acc + row, block, origin ? origin + row : nullptr, n, 1, 0);
                 });
    }
  }
}

void Fold::columns(double* acc, const char* x, const double* origin, int64_t count, int64_t rows,
                   int64_t step) const {
  if (via_ == dtype_) return loops_->columns(acc, x, origin, count, rows, step);
  for (int64_t row = 0; row < rows; ++row) {
    each_block(x + row * step * size_of(dtype_), 0, count, [&](const void* block, int64_t i, int64_t n) {
      loops_->columns(acc + i, block, origin ? origin + i : nullptr, n, 1, 0);
    });
  }
}

void Fold::divide(const double* acc, double* mean, int64_t count, int64_t elements) const {
  convert_row(held(), acc, DType::float64, mean, count);
  for (int64_t i = 0; i < count; ++i) mean[i] /= static_cast<double>(elements);
}

void Fold::finish(Finish finish, double* acc, int64_t count, int64_t elements, const TensorView& y,
                  int64_t first) const {
  void* const to = mutable_element(y, first);
  if (finish == Finish::none) return convert_row(held(), acc, y.dtype, to, count);
  if (finish == Finish::mean) {
    divide(acc, acc, count, elements);
  } else {
    convert_row(held(), acc, DType::float64, acc, count);
    for (int64_t i = 0; i < count; ++i) acc[i] = std::sqrt(acc[i]);
  }
  convert_results(acc, y.dtype, to, count);
}

}  // namespace loomix::ops
