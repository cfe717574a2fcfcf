// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/executor/runtime.h"

namespace loomix::c {

// The engine, operators and generators of this library in this process. They start on first use and last as long as
// the process.
Runtime& runtime();

// All operators of this library; operator_table.cc of the library that it is linked into.
void register_operators(ops::OpTable& table);

// Gives memory that nobody uses back to the system: what reading and compiling a model needed for a while.
void release_unused();

}  // namespace loomix::c
