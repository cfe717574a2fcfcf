// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/operator/op_info.h"

#include <pybind11/pybind11.h>

namespace loomix::python {

namespace py = pybind11;

PyObject* op_info(const ops::OpDef& op) {
  py::list aliases;
  for (const std::string& alias : op.aliases) aliases.append(alias);
  py::list inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const bool optional = op.has_input || (op.num_inputs && op.variadic_count.empty());
    inputs.append(py::dict(py::arg("name") = op.inputs[i].name, py::arg("mutated") = op.inputs[i].mutated,
                           py::arg("optional") = optional && i > 0));
  }
  py::list params;
  for (const auto& field : op.params->fields()) {
    if (field.kind == FieldKind::others) continue;
    py::list options;
    for (const std::string& option : field.options) options.append(option);
    params.append(py::dict(py::arg("name") = field.name, py::arg("type") = field.type,
                           py::arg("default") = field.default_value, py::arg("doc") = field.doc,
                           py::arg("required") = field.required, py::arg("optional") = field.optional,
                           py::arg("options") = options));
  }
  py::list outputs;
  for (const std::string& output : op.output_names) outputs.append(output);
  return py::dict(py::arg("name") = op.name, py::arg("aliases") = aliases, py::arg("doc") = op.doc,
                  py::arg("inputs") = inputs, py::arg("variadic") = op.variadic_count,
                  py::arg("params") = params, py::arg("outputs") = outputs,
                  py::arg("differentiable") = static_cast<bool>(op.gradient),
                  py::arg("no_symbol") = op.no_symbol, py::arg("any_inputs") = op.is_variadic(),
                  py::arg("elementwise") = op.elementwise,
                  py::arg("any_keywords") = op.params->others() != nullptr)
      .release()
      .ptr();
}

}  // namespace loomix::python
