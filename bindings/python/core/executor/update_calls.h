// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// Puts the class UpdateCalls into `module`.
void add_update_calls(PyObject* module);

}  // namespace loomix::python
