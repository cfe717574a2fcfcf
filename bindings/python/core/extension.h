// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include "base/device.h"
#include "base/dtype.h"
#include "ndarray/ndarray.h"
#include "symbol/executor/runtime.h"

namespace loomix::python {

// What extensions that are built and loaded on their own (loomix._parallel) need of loomix._core, which shows them no symbols: a capsule
// of this name in it.
inline constexpr const char* kExtensionCapsule = "loomix._core._extension";

struct ExtensionInterface {
  Runtime& (*runtime)();  // the engine starts on first use
  NDArray& (*to_array)(PyObject* object, const char* who, const char* argument);
  PyObject* (*wrap)(NDArray array);  // new
  DType (*to_dtype)(PyObject* object, const char* who);
  PyObject* (*dtype_class)(DType dtype);  // borrowed
};

}  // namespace loomix::python
