// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ndarray/tensor_view.h"
#include "ops/reduce/reductions.h"

namespace loomix::ops {

// Folds elements of one type into accumulators, which have eight bytes, and makes results of these. A value type; any number of
// threads may use one.
class Fold {
 public:
  // In the type that loses nothing of the result. Whole numbers wrap around, as in NumPy.
  static Fold exact(Reduction op, DType dtype);
  // In a type whose accumulators are doubles.
  static Fold floating(Reduction op, DType dtype);

  DType held() const { return via_ == DType::int64 ? DType::int64 : DType::float64; }  // by accumulators
  void init(double* acc, int64_t count) const { loops_->init(acc, count); }
  void merge(double* acc, const double* other, int64_t count) const { loops_->merge(acc, other, count); }

  // acc[r] = fold of `count` contiguous elements of row r; rows are `step` elements apart,
  void rows(double* acc, const char* x, const double* origin, int64_t count, int64_t rows,
            int64_t step) const;
  // or acc[i] with element i of each row.
  void columns(double* acc, const char* x, const double* origin, int64_t count, int64_t rows,
               int64_t step) const;

  // Turns accumulators of `elements` elements each into doubles, and these into means.
  void divide(const double* acc, double* mean, int64_t count, int64_t elements) const;
  // Results `first` and those after it in `y`. The accumulators are used up.
  void finish(Finish finish, double* acc, int64_t count, int64_t elements, const TensorView& y,
              int64_t first) const;

 private:
  Fold(Reduction op, DType dtype, DType via) : dtype_(dtype), via_(via), loops_(&reduce_loops(op, via)) {}
  // fn(elements as `via`, offset from the first, count)
  template <class Fn>
  void each_block(const char* x, int64_t first, int64_t count, Fn&& fn) const;

  DType dtype_, via_;
  const ReduceLoops* loops_;
};

}  // namespace loomix::ops
