// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/executor/runtime.h"

namespace loomix::c {

// The engine, operators and generators of this library in this process. They start on first use; the engine's threads end when
// the process exits.
Runtime& runtime();

}  // namespace loomix::c
