// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <memory>

namespace loomix::python {

// A Python object that C++ holds on to: copied and dropped by any thread, with the GIL or without it. The last holder never waits for the
// GIL, so that it may hold locks: it leaves the reference to the next thread that has the GIL here. Once the interpreter
// begins to end, what is left over is leaked on purpose.
using Kept = std::shared_ptr<PyObject>;

// Takes a reference of its own. Needs the GIL.
Kept keep(PyObject* object);

// Drops what other threads have left. Needs the GIL; what an object runs as it dies runs here.
void drop_kept() noexcept;
// Asks Python to do so on the main thread, if something is left and Python's queue was full the last time. Needs no GIL.
void ask_to_drop_kept() noexcept;

// The interpreter begins to end: from now on nothing is dropped any more.
void stop_dropping_kept() noexcept;

}  // namespace loomix::python
