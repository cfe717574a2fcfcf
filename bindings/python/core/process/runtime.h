// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include "engine/engine.h"
#include "symbol/executor/runtime.h"

namespace loomix::python {

// The engine, operators and generators of this process; the engine starts on first use.
Runtime& runtime();
inline engine::Engine& engine() { return runtime().engine(); }

// All operators that Python can call.
const ops::OpTable& operators();

// Module functions about the process: waitall, shutdown, random states, features ...
void add_runtime(PyObject* module);

}  // namespace loomix::python
