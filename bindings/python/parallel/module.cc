// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/errors.h"
#include "bindings/python/parallel/core.h"

namespace loomix::python {

const ExtensionInterface& core() {
  static const auto* const interface =
      static_cast<const ExtensionInterface*>(PyCapsule_Import(kExtensionCapsule, 0));
  if (interface == nullptr) throw py::error_already_set();
  return *interface;
}

}  // namespace loomix::python

PYBIND11_MODULE(_parallel, m) {
  using namespace loomix::python;  // NOLINT: one function
  pybind11::register_local_exception_translator(&translate_exception);
  m.doc() = "Distributed matrices: meshes, layouts, and matrices on the ranks of a job.";
  add_layouts(m);
  add_job(m);
  add_matrix(m);
  add_commands(m);
}
