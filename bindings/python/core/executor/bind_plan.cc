// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/executor/bind_plan.h"

#include <atomic>

#include "symbol/executor/from_settings.h"

namespace loomix::python {
namespace {

std::atomic<int> given_bulk_size{0};

}  // namespace

PlanOptions plan_for_bind(int64_t memory_budget) {
  PlanOptions plan = plan_from_settings();
  plan.memory_budget = memory_budget;
  if (const int size = given_bulk_size.load(); size > 0)
    plan.bulk_inference = plan.bulk_forward = plan.bulk_backward = size;
  return plan;
}

int exchange_bulk_size(int size) { return given_bulk_size.exchange(size); }

}  // namespace loomix::python
