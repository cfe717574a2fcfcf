// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// Iterators whose batches C++ makes, and functions on encoded images.
void add_data_iter(PyObject* module);

}  // namespace loomix::python
