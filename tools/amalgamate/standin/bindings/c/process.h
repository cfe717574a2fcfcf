// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/engine.h"
#include "ops/table.h"

namespace loomix::c {

// Of this process; made on first use, and never deleted: a program may exit while other threads predict.
engine::Engine& engine();
const ops::OpTable& table();

}  // namespace loomix::c
