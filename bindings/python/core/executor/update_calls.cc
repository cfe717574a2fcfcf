// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/executor/update_calls.h"

#include <pybind11/pybind11.h>

#include <memory>

#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/process/runtime.h"
#include "symbol/executor/update_calls.h"

namespace py = pybind11;

namespace loomix::python {

void add_update_calls(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  py::class_<UpdateCalls>(m, "UpdateCalls")
      .def(py::init([] { return std::make_unique<UpdateCalls>(runtime()); }))
      .def("begin",
           [](UpdateCalls& calls, const py::object& factor) {
             calls.begin(factor.is_none() ? NDArray() : to_array(factor.ptr(), "UpdateCalls", "factor"));
           })
      .def("end", &UpdateCalls::end, py::call_guard<py::gil_scoped_release>());
}

}  // namespace loomix::python
