// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/python/core/extension.h"
#include "linalg/dist_matrix.h"

// What the parts of loomix._parallel share.
namespace loomix::python {

namespace py = pybind11;

const ExtensionInterface& core();  // loomix._core, imported before

inline py::object array_object(const NDArray& array) {
  if (array.is_none()) return py::none();
  return py::reinterpret_steal<py::object>(core().wrap(array));
}

// The ranks that this process is one of: the one that every matrix is on, made by start() or at first use.
const linalg::JobRef& job();

void add_layouts(py::module_& m);
void add_job(py::module_& m);
void add_matrix(py::module_& m);
void add_commands(py::module_& m);

}  // namespace loomix::python
