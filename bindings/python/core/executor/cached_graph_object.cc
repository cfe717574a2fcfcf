// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/executor/cached_graph_object.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>

#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/executor/bind_plan.h"
#include "bindings/python/core/executor/explanation.h"
#include "bindings/python/core/kept.h"
#include "bindings/python/core/process/runtime.h"
#include "symbol/executor/cached_graph.h"

namespace loomix::python {
namespace {

namespace py = pybind11;

// What Python holds; pybind11 has no holder for counted handles that live in the object.
struct GraphHandle {
  Ref<CachedGraph> graph;
};

// An inline limit below 0 is none. Bulk sizes: the most short operators that are one task; 0: as for all that is bound.
GraphHandle make(const Symbol& symbol, const std::string& name, int64_t memory_budget, int forward_bulk,
                 int backward_bulk, int64_t inline_limit) {
  PlanOptions plan = plan_for_bind(memory_budget);
  if (forward_bulk > 0) plan.bulk_inference = plan.bulk_forward = forward_bulk;
  if (backward_bulk > 0) plan.bulk_backward = backward_bulk;
  return {CachedGraph::make(runtime(), symbol, name, plan, static_cast<size_t>(inline_limit))};
}

py::list call(const GraphHandle& handle, const py::list& inputs) {
  std::vector<NDArray> arrays;
  arrays.reserve(inputs.size());
  for (const py::handle input : inputs)
    arrays.push_back(to_array(input.ptr(), "hybridized block", "an input"));
  ArrayClass shown_as = ArrayClass::nd;
  for (const py::handle input : inputs) {
    if (is_numpy_like(input.ptr())) shown_as = ArrayClass::np;
  }
  py::list outputs;
  for (NDArray& output : handle.graph->call(arrays))
    outputs.append(py::reinterpret_steal<py::object>(wrap(std::move(output), shown_as)));
  return outputs;
}

void set_graph_monitor(const GraphHandle& handle, const py::object& callback, bool inputs) {
  if (callback.is_none()) return handle.graph->set_monitor({});
  handle.graph->set_monitor(
      {[kept = keep(callback.ptr())](const std::string& name, const std::string& op, const NDArray& array) {
         const py::gil_scoped_acquire gil;
         py::handle(kept.get())(name, op, py::reinterpret_steal<py::object>(wrap(array)));
       },
       inputs, Monitor::Names::block});
}

// Of the last call; None before the first.
py::object explanation_of_graph(const GraphHandle& handle, bool compare_strategies) {
  const std::optional<Explanation> explanation = handle.graph->explanation(compare_strategies);
  return explanation ? py::object(explanation_dict(*explanation)) : py::none();
}

}  // namespace

void add_cached_graph_type(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  m.def("exchange_bulk_size", &exchange_bulk_size);
  py::class_<GraphHandle>(m, "CachedGraph")
      .def(py::init(&make))
      .def("__call__", &call)
      .def_property_readonly("num_signatures",
                             [](const GraphHandle& handle) { return handle.graph->num_signatures(); })
      .def_property_readonly("num_executors",
                             [](const GraphHandle& handle) { return handle.graph->num_executors(); })
      .def("set_monitor", &set_graph_monitor)
      .def("explanation", &explanation_of_graph);
}

}  // namespace loomix::python
