// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include "ops/op.h"

namespace loomix::python {

// What Python needs to document an operator: a new dict with name, aliases, doc, inputs, variadic, params, outputs and so on.
PyObject* op_info(const ops::OpDef& op);

}  // namespace loomix::python
