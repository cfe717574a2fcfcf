// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include "engine/engine.h"

namespace loomix::python {

// The engine of this process, started on first use from the settings.
engine::Engine& engine();

// Gives a reference back from a thread that may not hold the GIL; it is dropped soon, by the main thread.
void release_on_any_thread(PyObject* object) noexcept;

// Module functions about the process: waitall, shutdown, random states, features ...
void add_runtime(PyObject* module);

}  // namespace loomix::python
