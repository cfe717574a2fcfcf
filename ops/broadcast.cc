// SPDX-License-Identifier: Apache-2.0
#include "ops/broadcast.h"

#include "base/error.h"

namespace loomix::ops {

int64_t BroadcastPlan::rows() const {
  int64_t count = 1;
  for (int axis = 0; axis + 1 < ndim; ++axis) count *= size[axis];
  return count;
}

BroadcastPlan plan_broadcast(const Shape& out, std::initializer_list<const Shape*> operands) {
  LOOMIX_INTERNAL_CHECK(operands.size() <= BroadcastPlan::kMaxOperands);
  BroadcastPlan plan;
  uint32_t last_moves = 0;
  int64_t elements[BroadcastPlan::kMaxOperands] = {1, 1, 1};  // of the operand's axes seen so far
  // From the innermost axis outwards; reversed at the end.
  for (int axis = out.ndim() - 1; axis >= 0; --axis) {
    if (out[axis] == 1) continue;
    uint32_t moves = 0;
    int k = 0;
    for (const Shape* shape : operands) {
      const int own = axis - (out.ndim() - shape->ndim());
      if (own >= 0 && (*shape)[own] == out[axis]) moves |= 1u << k;
      ++k;
    }
    if (plan.ndim > 0 && moves == last_moves) {
      plan.size[plan.ndim - 1] *= out[axis];
    } else {
      for (k = 0; k < static_cast<int>(operands.size()); ++k) {
        plan.stride[k][plan.ndim] = (moves >> k & 1) ? elements[k] : 0;
      }
      plan.size[plan.ndim++] = out[axis];
      last_moves = moves;
    }
    for (k = 0; k < static_cast<int>(operands.size()); ++k) {
      if (moves >> k & 1) elements[k] *= out[axis];
    }
  }
  if (plan.ndim == 0) {
    plan.size[0] = 1;
    plan.ndim = 1;
    for (auto& stride : plan.stride) stride[0] = 1;
  }
  std::reverse(plan.size, plan.size + plan.ndim);
  for (auto& stride : plan.stride) std::reverse(stride, stride + plan.ndim);
  return plan;
}

RowCursor::RowCursor(const BroadcastPlan& plan, int64_t row) : plan_(plan) {
  for (int axis = plan.ndim - 2; axis >= 0; --axis) {
    index_[axis] = row % plan.size[axis];
    row /= plan.size[axis];
    for (int k = 0; k < BroadcastPlan::kMaxOperands; ++k) offset_[k] += index_[axis] * plan.stride[k][axis];
  }
}

void RowCursor::next() {
  for (int axis = plan_.ndim - 2; axis >= 0; --axis) {
    const bool wraps = ++index_[axis] == plan_.size[axis];
    const int64_t steps = wraps ? 1 - plan_.size[axis] : 1;
    for (int k = 0; k < BroadcastPlan::kMaxOperands; ++k) offset_[k] += steps * plan_.stride[k][axis];
    if (!wraps) return;
    index_[axis] = 0;
  }
}

}  // namespace loomix::ops
