// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "symbol/executor/program.h"

namespace loomix::python {

// How what is bound now is compiled: by the settings, by the size that exchange_bulk_size set, within a memory budget (0: any).
PlanOptions plan_for_bind(int64_t memory_budget);

// The most short operators that are one task, for all that the process binds from now on; 0: as the settings say. Returns the size before.
int exchange_bulk_size(int size);

}  // namespace loomix::python
