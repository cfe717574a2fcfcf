// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/executor/executor_object.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>

#include "base/error.h"
#include "bindings/python/core/array/array_functions.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/executor/bind_plan.h"
#include "bindings/python/core/executor/explanation.h"
#include "bindings/python/core/executor/request.h"
#include "bindings/python/core/kept.h"
#include "bindings/python/core/process/runtime.h"
#include "symbol/executor/bound_executor.h"

namespace loomix::python {
namespace {

namespace py = pybind11;

using Names = std::vector<std::pair<std::string, py::object>>;

// What Python holds; pybind11 has no holder for counted handles that live in the object.
struct Handle {
  Ref<BoundExecutor> executor;
};

std::vector<NDArray> to_arrays(const py::list& list, const char* what) {
  std::vector<NDArray> arrays;
  for (const py::handle item : list) {
    arrays.push_back(item.is_none() ? NDArray() : to_array(item.ptr(), "executor", what));
  }
  return arrays;
}

py::list list_with_none(std::span<const NDArray> arrays) {
  py::list list;
  for (const NDArray& array : arrays) {
    list.append(array.is_none() ? py::object(py::none()) : py::reinterpret_steal<py::object>(wrap(array)));
  }
  return list;
}

std::vector<ops::Req> to_requests(const std::vector<std::string>& texts) {
  std::vector<ops::Req> requests;
  for (const std::string& text : texts) requests.push_back(to_request(text, "bind"));
  return requests;
}

std::vector<std::pair<std::string, Shape>> to_shapes(const Names& given) {
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const auto& [name, shape] : given) shapes.emplace_back(name, to_shape(shape.ptr(), name.c_str()));
  return shapes;
}

std::map<std::string, Device> to_groups(const Names& given) {
  std::map<std::string, Device> groups;
  for (const auto& [name, context] : given) groups.emplace(name, to_device(context.ptr(), "group2ctx"));
  return groups;
}

BindOptions bind_options(const Names& groups, const py::object& shared, int64_t memory_budget) {
  BindOptions options;
  options.plan = plan_for_bind(memory_budget);
  options.groups = to_groups(groups);
  if (!shared.is_none()) options.shared = shared.cast<const Handle&>().executor;
  return options;
}

Handle bind(const Symbol& symbol, const py::object& context, const py::list& arguments,
            const py::list& gradients, const std::vector<std::string>& requests, const py::list& states,
            const Names& groups, const py::object& shared, int64_t memory_budget) {
  BoundArrays arrays{to_arrays(arguments, "an argument"), to_arrays(gradients, "a gradient"),
                     to_requests(requests), to_arrays(states, "an auxiliary state")};
  return {BoundExecutor::bind(runtime(), symbol, to_device(context.ptr(), "bind"), std::move(arrays),
                              bind_options(groups, shared, memory_budget))};
}

using StorageNames = std::vector<std::pair<std::string, std::string>>;

SimpleBindRequest simple_request(const char* who, const Names& shapes, const Names& dtypes,
                                 const StorageNames& stypes, const std::vector<std::string>& requests) {
  SimpleBindRequest request;
  for (const auto& [name, stype] : stypes) request.stypes.emplace_back(name, to_storage_type(stype));
  request.shapes = to_shapes(shapes);
  for (const auto& [name, dtype] : dtypes) request.dtypes.emplace_back(name, to_dtype(dtype.ptr(), who));
  request.requests = to_requests(requests);
  return request;
}

Handle simple_bind(const Symbol& symbol, const py::object& context, const Names& shapes, const Names& dtypes,
                   const StorageNames& stypes, const std::vector<std::string>& requests,
                   const std::vector<std::string>& shared_arguments, const Names& groups,
                   const py::object& shared, int64_t memory_budget) {
  SimpleBindRequest request = simple_request("simple_bind", shapes, dtypes, stypes, requests);
  request.shared_arguments = shared_arguments;
  return {BoundExecutor::simple_bind(runtime(), symbol, to_device(context.ptr(), "simple_bind"), request,
                                     bind_options(groups, shared, memory_budget))};
}

// How the gradients of arguments are stored.
std::vector<std::string> gradient_storage(const Symbol& symbol, const py::object& context,
                                          const py::list& arguments, const std::vector<std::string>& requests,
                                          const py::list& auxiliary_states, const Names& groups) {
  BoundArrays arrays;
  arrays.arguments = to_arrays(arguments, "an argument");
  arrays.gradients.resize(arrays.arguments.size());
  arrays.requests = to_requests(requests);
  arrays.auxiliary_states = to_arrays(auxiliary_states, "an auxiliary state");
  const auto stypes = BoundExecutor::gradient_storage(runtime(), symbol, to_device(context.ptr(), "bind"),
                                                      std::move(arrays), bind_options(groups, py::none(), 0));
  std::vector<std::string> names;
  for (const StorageType stype : stypes) names.emplace_back(name_of(stype));
  return names;
}

// The contexts of arguments and auxiliary states.
py::tuple variable_contexts(const Symbol& symbol, const py::object& context, const Names& groups) {
  const auto devices =
      BoundExecutor::variable_devices(symbol, to_device(context.ptr(), "bind"), to_groups(groups));
  const auto contexts = [](const std::vector<Device>& all) {
    py::list list;
    for (const Device device : all) list.append(py::reinterpret_steal<py::object>(context_object(device)));
    return list;
  };
  return py::make_tuple(contexts(devices.arguments), contexts(devices.auxiliary_states));
}

void set_monitor(const Handle& handle, const py::object& callback, bool inputs) {
  if (callback.is_none()) {
    handle.executor->set_monitor({});
    return;
  }
  LOOMIX_CHECK(
      PyCallable_Check(callback.ptr()), TypeError,
      "[set_monitor_callback] callback is of type {}; expected a function of name and array, or None.",
      type_name(callback.ptr()));
  handle.executor->set_monitor(
      {[callback = keep(callback.ptr())](const std::string& name, const std::string&, const NDArray& array) {
         const py::gil_scoped_acquire gil;
         py::handle(callback.get())(name, py::reinterpret_steal<py::object>(wrap(array)));
       },
       inputs});
}

RunMode mode_of(bool training) { return training ? RunMode::training : RunMode::inference; }

py::dict explanation_of(const Handle& handle, std::optional<bool> training, bool compare_strategies) {
  BoundExecutor& executor = *handle.executor;
  const RunMode mode = training ? mode_of(*training) : executor.explained_mode();
  return explanation_dict(executor.explanation(mode, compare_strategies));
}

py::dict explain_symbol(const Symbol& symbol, const py::object& context, const Names& shapes,
                        const Names& dtypes, const StorageNames& stypes,
                        const std::vector<std::string>& requests, const Names& groups, int64_t memory_budget,
                        bool training, bool compare_strategies) {
  return explanation_dict(BoundExecutor::explain_symbol(
      runtime(), symbol, to_device(context.ptr(), "explain"),
      simple_request("explain", shapes, dtypes, stypes, requests),
      bind_options(groups, py::none(), memory_budget), mode_of(training), compare_strategies));
}

}  // namespace

void add_executor_type(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  m.def("bind", &bind);
  m.def("simple_bind", &simple_bind);
  m.def("explain_symbol", &explain_symbol);
  m.def("gradient_storage", &gradient_storage);
  m.def("variable_contexts", &variable_contexts);
  m.def("check_can_run", &BoundExecutor::check_can_run);
  py::class_<Handle>(m, "ExecutorHandle")
      .def("forward",
           [](const Handle& handle, bool training) { handle.executor->forward(mode_of(training)); })
      .def("backward",
           [](const Handle& handle, const py::list& head_gradients, std::optional<bool> training) {
             std::optional<RunMode> mode;
             if (training) mode = mode_of(*training);
             handle.executor->backward(to_arrays(head_gradients, "a head gradient"), mode);
           })
      .def("reshape",
           [](const Handle& handle, const Names& shapes, bool partial, bool grow) {
             return Handle{handle.executor->reshape(to_shapes(shapes), {.partial = partial, .grow = grow})};
           })
      .def("outputs", [](const Handle& handle) { return list_with_none(handle.executor->outputs()); })
      .def("merges_equal", [](const Handle& handle) { return handle.executor->merges_equal(); })
      .def("is_dynamic", [](const Handle& handle) { return handle.executor->is_dynamic(); })
      .def("renew_outputs", [](const Handle& handle) { handle.executor->renew_outputs(); })
      .def("arguments",
           [](const Handle& handle) { return list_with_none(handle.executor->arrays().arguments); })
      .def("gradients",
           [](const Handle& handle) { return list_with_none(handle.executor->arrays().gradients); })
      .def("auxiliary_states",
           [](const Handle& handle) { return list_with_none(handle.executor->arrays().auxiliary_states); })
      .def("set_monitor", &set_monitor)
      .def("planned_bytes",
           [](const Handle& handle, bool training) {
             return handle.executor->plan(mode_of(training)).memory.bytes();
           })
      .def("compare_sharing",
           [](const Handle& handle, bool training) {
             return sharing_dict(handle.executor->compare_sharing(mode_of(training)));
           })
      .def("explain",
           [](const Handle& handle, bool training) { return handle.executor->explain(mode_of(training)); })
      .def("explanation", &explanation_of);
}

}  // namespace loomix::python
