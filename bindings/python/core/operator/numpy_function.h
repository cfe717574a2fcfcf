// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// A function of mx.np on each element: one operator where the arguments are as the table wants them, else a Python function
// that converts them first. Makes the type NumpyFunction, and puts it and `numpy_function` into `module`.
void add_numpy_function_type(PyObject* module);

bool is_numpy_function(PyObject* object);

// Names the error that is set after the function.
void name_numpy_error(PyObject* function) noexcept;

// function(left, right) by one operator, into `out` if that is not null. Null without an error: the arguments are not that plain.
// Throws.
PyObject* call_plain(PyObject* function, PyObject* left, PyObject* right, PyObject* out);

}  // namespace loomix::python
