// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <span>

#include "base/params.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "ndarray/ndarray.h"
#include "ops/op.h"

// Where Python calls meet the executor: the only callers of run_node in the binding. All throw; all need the GIL, and
// let go of it while the push waits. `name` is that of the node where the call is traced; null for a made one.
namespace loomix::python {

// Runs one operator; new Python arrays for its visible outputs: the only one, or a list.
PyObject* invoke_one(const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                     std::span<const NDArray* const> in, ArrayClass shown_as = ArrayClass::nd,
                     PyObject* name = nullptr);
PyObject* invoke(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, std::span<const NDArray* const> in,
                 Device device, ArrayClass shown_as = ArrayClass::nd, PyObject* name = nullptr);
// The same, into arrays that exist.
void invoke_into(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, std::span<const NDArray* const> in,
                 std::span<NDArray* const> out, PyObject* name = nullptr);

}  // namespace loomix::python
