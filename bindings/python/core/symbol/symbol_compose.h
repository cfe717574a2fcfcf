// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <string>

#include "bindings/python/core/operator/op_call.h"

namespace loomix::python {

// Makes a symbol of one operator, as loomix.symbol's functions do. Name and attributes come from the call, the
// thread's NameManager and AttrScope; `hint` is the function's name.
PyObject* compose_symbol(const OpSignature& signature, PyObject* hint, const OpCall& call);

// What the thread's NameManager makes of a given name (or null) and a hint.
std::string final_name(PyObject* name, const std::string& hint);

}  // namespace loomix::python
