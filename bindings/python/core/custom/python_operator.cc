// SPDX-License-Identifier: Apache-2.0
//
// What is said to Python and back goes through functions of loomix._custom, which check what users' classes return.
#include "bindings/python/core/custom/python_operator.h"

#include <algorithm>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "base/error.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "ops/shape_rule.h"

namespace loomix::python {

namespace py = pybind11;

namespace {

py::object steal(PyObject* object) { return py::reinterpret_steal<py::object>(checked(object)); }

// Calls a function of loomix._custom. Needs the GIL.
template <class... Args>
py::object call_package(const char* function, Args&&... args) {
  try {
    return py::handle(package_attribute("_custom", function))(std::forward<Args>(args)...);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const PythonError&) {}
  throw_python_error();
}

template <class E>
[[noreturn]] void fail(const std::string& text) {
  throw E(text);
}

// Classes of loomix.base, the most derived ones first.
constexpr std::pair<const char*, void (*)(const std::string&)> kErrorClasses[] = {
    {"ShapeError", fail<ShapeError>},
    {"MXNetValueError", fail<ValueError>},
    {"MXNetTypeError", fail<TypeError>},
    {"MXNetIndexError", fail<IndexError>},
    {"MXNetKeyError", fail<KeyError>},
    {"MXNetFileError", fail<FileError>},
    {"MXNetMemoryError", fail<MemoryError>},
    {"DeviceError", fail<DeviceError>},
    {"NetworkError", fail<NetworkError>},
    {"MXNetNotImplementedError", fail<NotImplementedError>},
    {"StateError", fail<StateError>},
    {"InternalError", fail<InternalError>},
    {"MXNetError", fail<Error>},
};

// MXNet's old rule writes what is unknown as 0 and (), which are sizes where all is known.
py::tuple shape_to_python(const Shape& shape) {
  const bool numpy = ops::numpy_shapes();
  if (!shape.ndim_known()) return numpy ? py::tuple(py::none()) : py::tuple();
  py::tuple sizes(shape.ndim());
  for (int axis = 0; axis < shape.ndim(); ++axis)
    sizes[static_cast<size_t>(axis)] = shape[axis] < 0 && !numpy ? 0 : shape[axis];
  return sizes;
}

Shape shape_from_python(py::handle sizes, bool all_known) {
  if (sizes.is_none()) return Shape::unknown();
  Shape shape = to_shape(sizes.ptr(), "Custom");
  if (all_known || ops::numpy_shapes()) return shape;
  if (shape.ndim() == 0) return Shape::unknown();
  return ops::shape_of_attribute(std::move(shape));
}

py::object dtype_to_python(DType dtype) {
  if (dtype == DType::unknown) return py::none();
  return py::reinterpret_borrow<py::object>(dtype_class(dtype));
}

py::list to_list(std::span<const NDArray> arrays) {
  py::list list;
  for (const NDArray& array : arrays) list.append(steal(wrap(array)));
  return list;
}

py::list to_list(std::span<const ops::Req> requests) {
  py::list list;
  for (const ops::Req request : requests)
    list.append(request == ops::Req::null ? "null" : request == ops::Req::add ? "add" : "write");
  return list;
}

}  // namespace

void throw_python_error() {
  py::error_already_set error;
  if (!error.matches(PyExc_Exception)) {
    error.restore();
    throw PythonError{};
  }
  const std::string text = py::str(error.value());
  for (const auto& [name, fail_as] : kErrorClasses) {
    if (error.matches(package_attribute("base", name))) fail_as(text);
  }
  throw Error(text);
}

Ref<const PythonOperator> PythonOperator::make(const std::string& type, const TextPairs& arguments) {
  const py::gil_scoped_acquire gil;
  py::dict keywords;
  for (const auto& [name, text] : arguments) keywords[py::str(name)] = py::str(text);
  const py::tuple described = call_package("describe", type, keywords);
  auto made = make_ref<PythonOperator>();
  made->type_ = type;
  made->prop_ = keep(py::object(described[0]).ptr());
  for (auto& name : described[1].cast<std::vector<std::string>>())
    made->signature_.inputs.push_back({std::move(name)});
  made->signature_.outputs = described[2].cast<std::vector<std::string>>();
  for (auto& name : described[3].cast<std::vector<std::string>>()) {
    made->signature_.inputs.push_back({std::move(name), true});
    ++made->num_states_;
  }
  return made;
}

const Ref<const PythonOperator>& PythonOperator::unnamed() {
  static const auto& unnamed = *new Ref<const PythonOperator>([] {
    auto made = make_ref<PythonOperator>();
    made->signature_ = {{{"data"}}, {"output"}};
    return made;
  }());
  return unnamed;
}

void PythonOperator::check_named() const {
  LOOMIX_CHECK(prop_, ValueError,
               "[Custom] op_type is missing; expected a name given to mx.operator.register.");
}

void PythonOperator::infer_shape(ops::ShapeInfer& shapes) const {
  check_named();
  const auto known = [&](int i) { return shapes.in(i).is_known(); };
  int num_known = 0;
  for (int i = 0; i < num_arguments(); ++i) num_known += known(i);
  if (num_known == 0 && num_arguments() > 0) return;
  const bool all_known = num_known == num_arguments();
  const py::gil_scoped_acquire gil;
  py::list in;
  for (int i = 0; i < num_arguments(); ++i) in.append(shape_to_python(shapes.in(i)));
  const py::object result = call_package("infer_shape", py::handle(prop_.get()), in, all_known);
  if (result.is_none()) return;  // it needs to know more
  const py::tuple groups = result;
  const auto shape = [&](size_t group, int i) {
    return shape_from_python(py::list(groups[group])[static_cast<size_t>(i)], all_known);
  };
  for (int i = 0; i < num_arguments(); ++i) shapes.set_in(i, shape(0, i));
  for (int i = 0; i < num_outputs(); ++i) shapes.set_out(i, shape(1, i));
  for (int i = 0; i < num_states(); ++i) shapes.set_in(num_arguments() + i, shape(2, i));
}

void PythonOperator::infer_type(ops::TypeInfer& types) const {
  check_named();
  bool any_known = num_arguments() == 0;
  for (int i = 0; i < num_arguments(); ++i) any_known = any_known || types.in(i) != DType::unknown;
  if (!any_known) return;
  const py::gil_scoped_acquire gil;
  py::list in;
  for (int i = 0; i < num_arguments(); ++i) in.append(dtype_to_python(types.in(i)));
  const py::tuple groups = call_package("infer_type", py::handle(prop_.get()), in);
  const auto dtype = [&](size_t group, int i) {
    const py::object named = py::list(groups[group])[static_cast<size_t>(i)];
    return named.is_none() ? DType::unknown : to_dtype(named.ptr(), "Custom");
  };
  for (int i = 0; i < num_arguments(); ++i) types.set_in(i, dtype(0, i));
  for (int i = 0; i < num_outputs(); ++i) types.set_out(i, dtype(1, i));
  for (int i = 0; i < num_states(); ++i) types.set_in(num_arguments() + i, dtype(2, i));
}

std::vector<bool> PythonOperator::dependencies() const {
  const int count = num_arguments() + 2 * num_outputs();
  std::vector<bool> needed(static_cast<size_t>(count), !prop_);
  if (!prop_) return needed;
  const py::gil_scoped_acquire gil;
  for (const py::handle number :
       call_package("dependencies", py::handle(prop_.get()), num_arguments(), num_outputs()))
    needed[number.cast<size_t>()] = true;
  return needed;
}

PyObject* OperatorObject::object(const PythonOperator& description, Device device, const Call& call_) {
  if (object_) return object_.get();
  py::list shapes, dtypes;
  for (const NDArray& array : call_.in_data) {
    shapes.append(array.is_none() ? py::tuple() : shape_to_python(array.shape()));
    dtypes.append(dtype_to_python(array.is_none() ? DType::unknown : array.dtype()));
  }
  const py::object made = call_package("create", py::handle(description.prop_.get()),
                                       steal(context_object(device)), shapes, dtypes);
  object_ = keep(made.ptr());
  return object_.get();
}

void OperatorObject::forward(const PythonOperator& description, Device device, const Call& given) {
  const py::gil_scoped_acquire gil;
  call_package("forward", py::handle(description.prop_.get()), py::handle(object(description, device, given)),
               given.training, to_list(given.requests), to_list(given.in_data), to_list(given.out_data),
               to_list(given.states));
}

void OperatorObject::backward(const PythonOperator& description, Device device, const Call& given) {
  const py::gil_scoped_acquire gil;
  call_package("backward", py::handle(description.prop_.get()),
               py::handle(object(description, device, given)), to_list(given.requests),
               to_list(given.out_grad), to_list(given.in_data), to_list(given.out_data),
               to_list(given.in_grad), to_list(given.states));
}

}  // namespace loomix::python
