// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include "ndarray/ndarray.h"

namespace loomix::python {

// A capsule "dltensor" that shares the memory; waits for the data. Whoever takes the capsule owns a handle.
PyObject* dlpack_capsule(NDArray array);
// Takes a capsule "dltensor" over: contiguous host memory is shared, strided is copied. Throws for other devices and types.
NDArray from_dlpack(PyObject* capsule);

}  // namespace loomix::python
