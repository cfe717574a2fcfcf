// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/executor/autograd.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <vector>

#include "base/error.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/executor/request.h"
#include "bindings/python/core/kept.h"
#include "bindings/python/core/process/runtime.h"
#include "bindings/python/core/symbol/symbol_object.h"
#include "symbol/autograd/tape.h"

namespace loomix::python {
namespace {

namespace py = pybind11;

std::vector<NDArray> to_arrays(const py::list& list, const char* who, const char* what) {
  std::vector<NDArray> arrays;
  for (const py::handle item : list) {
    arrays.push_back(item.is_none() ? NDArray() : to_array(item.ptr(), who, what));
  }
  return arrays;
}

// Array i is shown in the class of object i.
py::list list_of(std::vector<NDArray> arrays, const py::list& like) {
  py::list list;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const ArrayClass shown_as = class_of(like[i].ptr());
    list.append(py::reinterpret_steal<py::object>(wrap(std::move(arrays[i]), shown_as)));
  }
  return list;
}

// A Python function that computes gradients: it is called on the thread that runs the backward pass.
class PythonFunction final : public autograd::CustomFunction {
 public:
  PythonFunction(PyObject* backward, std::string name, size_t num_inputs, ArrayClass shown_as)
      : backward_(keep(backward)), name_(std::move(name)), num_inputs_(num_inputs), shown_as_(shown_as) {}

  std::string name() const override { return name_; }
  std::vector<NDArray> backward(std::span<const NDArray> output_grads, std::span<const NDArray>) override {
    const py::gil_scoped_acquire gil;
    py::tuple args(output_grads.size());
    for (size_t i = 0; i < output_grads.size(); ++i) {
      args[i] = py::reinterpret_steal<py::object>(wrap(output_grads[i], shown_as_));
    }
    const py::list result = py::reinterpret_borrow<py::function>(backward_.get())(*args);
    std::vector<NDArray> gradients = to_arrays(result, name_.c_str(), "a gradient");
    LOOMIX_CHECK(gradients.size() == num_inputs_, ValueError,
                 "[{}] backward returned {} gradients; expected one for each of the {} inputs.", name_,
                 gradients.size(), num_inputs_);
    return gradients;
  }

 private:
  Kept backward_;
  std::string name_;
  size_t num_inputs_;
  ArrayClass shown_as_;
};

py::list record_function(const py::object& backward, const std::string& name, const py::list& inputs,
                         const py::list& outputs) {
  const std::vector<NDArray> in = to_arrays(inputs, name.c_str(), "an input");
  std::vector<NDArray> out = to_arrays(outputs, name.c_str(), "an output");
  std::vector<NDArray*> targets;
  for (NDArray& array : out) {
    array.set_tape(nullptr);
    targets.push_back(&array);
  }
  const ArrayClass shown_as = inputs.empty() ? ArrayClass::nd : class_of(inputs[0].ptr());
  autograd::record_custom(runtime(), make_ref<PythonFunction>(backward.ptr(), name, in.size(), shown_as), in,
                          targets);
  return list_of(std::move(out), outputs);
}

void mark_variables(const py::list& variables, const py::list& gradients,
                    const std::vector<std::string>& requests) {
  std::vector<NDArray*> arrays;
  for (const py::handle item : variables)
    arrays.push_back(&to_array(item.ptr(), "mark_variables", "a variable"));
  std::vector<ops::Req> reqs;
  for (const std::string& request : requests) reqs.push_back(to_request(request, "mark_variables"));
  autograd::mark_variables(arrays, to_arrays(gradients, "mark_variables", "a gradient"), reqs);
}

void backward(const py::list& heads, const py::list& head_grads, bool retain_graph, bool train_mode) {
  autograd::backward(runtime(), to_arrays(heads, "backward", "a head"),
                     to_arrays(head_grads, "backward", "a head gradient"),
                     {.retain_graph = retain_graph, .create_graph = false, .train_mode = train_mode});
}

py::list grad(const py::list& heads, const py::list& head_grads, const py::list& variables, bool retain_graph,
              bool create_graph, bool train_mode) {
  return list_of(
      autograd::grad(runtime(), to_arrays(heads, "grad", "a head"),
                     to_arrays(variables, "grad", "a variable"),
                     to_arrays(head_grads, "grad", "a head gradient"),
                     {.retain_graph = retain_graph, .create_graph = create_graph, .train_mode = train_mode}),
      variables);
}

PyObject* recorded_symbol(PyObject*, PyObject* array) {
  return guarded(
      [&] { return wrap(autograd::recorded_symbol(to_array(array, "get_symbol", "the argument"))); });
}

PyObject* gradient(PyObject* self, PyObject*) {
  return guarded([&] {
    NDArray gradient = autograd::gradient_of(array_of(self));
    return gradient.is_none() ? Py_NewRef(Py_None) : wrap(std::move(gradient), class_of(self));
  });
}

PyObject* is_recording_function(PyObject*, PyObject*) { return PyBool_FromLong(autograd::is_recording()); }
PyObject* is_training_function(PyObject*, PyObject*) { return PyBool_FromLong(autograd::is_training()); }
PyObject* set_recording(PyObject*, PyObject* on) {
  return PyBool_FromLong(autograd::set_recording(PyObject_IsTrue(on) == 1));
}
PyObject* set_training(PyObject*, PyObject* on) {
  return PyBool_FromLong(autograd::set_training(PyObject_IsTrue(on) == 1));
}

}  // namespace

bool is_recording() noexcept { return autograd::is_recording(); }

PyMethodDef* autograd_methods() {
  static PyMethodDef methods[] = {
      {"_gradient", gradient, METH_NOARGS, "The gradient array of a variable, or None."},
      {nullptr, nullptr, 0, nullptr}};
  return methods;
}

void add_autograd(PyObject* module) {
  static PyMethodDef functions[] = {
      {"is_recording", is_recording_function, METH_NOARGS, "Whether this thread records what it computes."},
      {"is_training", is_training_function, METH_NOARGS,
       "Whether operators behave as in training, on this thread."},
      {"set_recording", set_recording, METH_O,
       "Switches recording on or off for this thread; returns what it was."},
      {"set_training", set_training, METH_O,
       "Switches training mode on or off for this thread; returns what it was."},
      {"recorded_symbol", recorded_symbol, METH_O, "The Symbol of the recorded computation of an array."},
      {nullptr, nullptr, 0, nullptr}};
  checked(PyModule_AddFunctions(module, functions));
  auto m = py::reinterpret_borrow<py::module_>(module);
  m.def("mark_variables", &mark_variables);
  m.def("backward", &backward);
  m.def("grad", &grad);
  m.def("record_function", &record_function);
}

}  // namespace loomix::python
