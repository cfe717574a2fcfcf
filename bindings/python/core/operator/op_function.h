// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include "ops/op.h"

namespace loomix::python {

// What a function object does with its operator: run it on arrays, compose a symbol, or what its arguments ask for, by
// NumPy's rule of shapes and with arrays of mx.np where none comes in.
enum class OpFlavour : uint8_t { array, symbol, numpy };

// Makes the type OpFunction, and puts it and the functions that list operators into `module`.
void add_op_function_type(PyObject* module);

}  // namespace loomix::python
