// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/engine.h"
#include "ops/table.h"

namespace loomix::c {

// Of this process; made on first use, and never deleted: a program may exit while other threads predict.
engine::Engine& engine();
const ops::OpTable& table();
// Gives memory that nobody uses back to the system, where it does not go back by itself.
void release_unused();

}  // namespace loomix::c
