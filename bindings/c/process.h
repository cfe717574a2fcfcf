// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/executor/runtime.h"

namespace loomix::c {

// The engine, operators and generators of this library in this process. They start on first use and last as long as
// the process.
Runtime& runtime();

}  // namespace loomix::c
