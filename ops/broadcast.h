// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/shape.h"

namespace loomix::ops {

// How operands of broadcastable shapes are walked together: axes of size 1 are dropped, and neighbouring axes along
// which every operand does the same (moves or stays) are one. Strides count elements; 0 where an operand stays.
struct BroadcastPlan {
  static constexpr int kMaxOperands = 3;
  int ndim = 0;  // at least 1; the last axis is the inner loop
  int64_t size[Shape::kMaxDims] = {};
  int64_t stride[kMaxOperands][Shape::kMaxDims] = {};

  // Product of all sizes but the last.
  int64_t rows() const;
  int64_t row_size() const { return size[ndim - 1]; }
};

// The operands' axes are aligned at the end; each is 1 or equal to the output's.
BroadcastPlan plan_broadcast(const Shape& out, std::initializer_list<const Shape*> operands);

// Steps through the rows of a plan: the offset of each operand at the row's first element.
class RowCursor {
 public:
  RowCursor(const BroadcastPlan& plan, int64_t row);
  int64_t offset(int operand) const { return offset_[operand]; }
  void next();

 private:
  const BroadcastPlan& plan_;
  int64_t index_[Shape::kMaxDims] = {};
  int64_t offset_[BroadcastPlan::kMaxOperands] = {};
};

}  // namespace loomix::ops
