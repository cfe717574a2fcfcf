// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>

#include "bindings/python/core/array/array_functions.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/data/data_iter.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/executor/autograd.h"
#include "bindings/python/core/executor/cached_graph_object.h"
#include "bindings/python/core/executor/executor_object.h"
#include "bindings/python/core/executor/update_calls.h"
#include "bindings/python/core/extension.h"
#include "bindings/python/core/operator/numpy_function.h"
#include "bindings/python/core/operator/op_function.h"
#include "bindings/python/core/operator/precision.h"
#include "bindings/python/core/operator/trace.h"
#include "bindings/python/core/process/process.h"
#include "bindings/python/core/process/runtime.h"
#include "bindings/python/core/store/kvstore_object.h"
#include "bindings/python/core/symbol/symbol_object.h"

namespace loomix::python {
namespace {

void add_extension_interface(PyObject* module) {
  static ExtensionInterface interface {
    &runtime, &to_array, [](NDArray array) { return wrap(std::move(array)); }, &to_dtype, &dtype_class
  };
  const Owned capsule(checked(PyCapsule_New(&interface, kExtensionCapsule, nullptr)));
  checked(PyModule_AddObjectRef(module, "_extension", capsule.get()));
}

}  // namespace
}  // namespace loomix::python

PYBIND11_MODULE(_core, m) {
  using namespace loomix::python;  // NOLINT: one function
  pybind11::register_exception_translator(&translate_exception);
  m.doc() = "The C++ core of Loomix: arrays, operator functions, symbols, executors and the gradient tape.";
  try {
    add_array_type(m.ptr());
    add_numpy_array_type(m.ptr());
    add_op_function_type(m.ptr());
    add_numpy_function_type(m.ptr());
    add_runtime(m.ptr());
    add_process_functions(m.ptr());
    add_autograd(m.ptr());
    add_array_functions(m.ptr());
    add_symbol_type(m.ptr());
    add_precision(m.ptr());
    add_trace(m.ptr());
    add_executor_type(m.ptr());
    add_cached_graph_type(m.ptr());
    add_update_calls(m.ptr());
    add_data_iter(m.ptr());
    add_store_type(m.ptr());
    add_extension_interface(m.ptr());
  } catch (...) {
    set_python_error();
    throw pybind11::error_already_set();
  }
}
