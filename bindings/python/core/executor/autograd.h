// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace loomix::python {

// Whether this thread records, for autograd.
bool is_recording() noexcept;

// Methods of NDArray about gradients; null ends the list.
PyMethodDef* autograd_methods();
// Module functions behind loomix.autograd.
void add_autograd(PyObject* module);

}  // namespace loomix::python
