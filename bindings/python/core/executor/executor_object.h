// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// ExecutorHandle: the pybind11 class of loomix::BoundExecutor, behind loomix.executor.Executor.
void add_executor_type(PyObject* module);

}  // namespace loomix::python
