// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// Module functions on whole arrays: files, records, copies, storage types.
void add_array_functions(PyObject* module);

}  // namespace loomix::python
