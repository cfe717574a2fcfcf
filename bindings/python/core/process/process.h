// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// Module functions about the process as a whole: traces, random states, devices, build features.
void add_process_functions(PyObject* module);

}  // namespace loomix::python
