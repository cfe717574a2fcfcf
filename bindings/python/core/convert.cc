// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/convert.h"

#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "bindings/python/core/errors.h"

namespace loomix::python {
namespace {

constexpr std::array kDTypes = {DType::float32, DType::float64, DType::float16, DType::uint8,   DType::int32,
                                DType::int8,    DType::int64,   DType::boolean, DType::bfloat16};

// NumPy's objects, imported once; they live as long as the interpreter.
struct NumPy {
  PyObject* dtype_type = nullptr;
  PyObject* array_type = nullptr;
  std::array<PyObject*, 16> classes{};
  std::array<PyObject*, 16> dtypes{};

  NumPy() {
    const Owned module(checked(PyImport_ImportModule("numpy")));
    dtype_type = checked(PyObject_GetAttrString(module.get(), "dtype"));
    array_type = checked(PyObject_GetAttrString(module.get(), "ndarray"));
    for (DType dtype : kDTypes) {
      const auto index = static_cast<size_t>(dtype);
      if (dtype == DType::bfloat16) {
        const Owned halves(checked(PyObject_GetAttrString(module.get(), "uint16")));
        dtypes[index] = checked(PyObject_CallFunction(dtype_type, "[(sO)]", "bfloat16", halves.get()));
        classes[index] = dtypes[index];
        continue;
      }
      const std::string name = dtype == DType::boolean ? "bool_" : std::string(name_of(dtype));
      classes[index] = checked(PyObject_GetAttrString(module.get(), name.c_str()));
      dtypes[index] = checked(PyObject_CallOneArg(dtype_type, classes[index]));
    }
  }
};

const NumPy& numpy() {
  static const auto& names = *new NumPy();
  return names;
}

std::optional<DType> find_dtype(std::string_view name) {
  for (DType dtype : kDTypes) {
    if (name_of(dtype) == name) return dtype;
  }
  return std::nullopt;
}

DType named_dtype(std::string_view name, PyObject* object, const char* who) {
  if (const auto dtype = find_dtype(name)) return *dtype;
  detail::throw_error<TypeError>(
      "[{}] {} is not an element type; expected float16, bfloat16, float32, float64, int8, uint8, int32, "
      "int64 or bool.",
      who, to_text(object));
}

}  // namespace

const char* type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

std::string to_text(PyObject* object) {
  const Owned text(checked(PyObject_Str(object)));
  Py_ssize_t length = 0;
  const char* characters = PyUnicode_AsUTF8AndSize(text.get(), &length);
  if (!characters) throw PythonError{};
  return {characters, static_cast<size_t>(length)};
}

bool is_dtype_object(PyObject* object) {
  return PyType_Check(object) ||
         PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(numpy().dtype_type));
}

bool is_numpy_array(PyObject* object) {
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(numpy().array_type));
}

DType to_dtype(PyObject* object, const char* who) {
  const NumPy& names = numpy();
  for (DType dtype : kDTypes) {
    if (object == names.classes[static_cast<size_t>(dtype)] ||
        object == names.dtypes[static_cast<size_t>(dtype)]) {
      return dtype;
    }
  }
  const bool text = PyUnicode_Check(object) != 0;
  if (text) {
    if (const auto dtype = find_dtype(to_text(object))) return *dtype;
  }
  if (object == Py_None || !(text || is_dtype_object(object))) return named_dtype("", object, who);
  const Owned dtype(PyObject_CallOneArg(names.dtype_type, object));  // "int", "f4" and the like, too
  if (!dtype) {
    PyErr_Clear();
    return named_dtype("", object, who);
  }
  const int same =
      PyObject_RichCompareBool(dtype.get(), names.dtypes[static_cast<size_t>(DType::bfloat16)], Py_EQ);
  checked(same);
  if (same) return DType::bfloat16;
  const Owned name(checked(PyObject_GetAttrString(dtype.get(), "name")));
  return named_dtype(to_text(name.get()), object, who);
}

PyObject* dtype_class(DType dtype) { return numpy().classes[static_cast<size_t>(dtype)]; }
PyObject* numpy_dtype(DType dtype) { return numpy().dtypes[static_cast<size_t>(dtype)]; }

Shape to_shape(PyObject* object, const char* who) {
  const auto to_dim = [&](PyObject* item) {
    const Owned number(PyNumber_Index(item));
    if (!number) {
      PyErr_Clear();
      detail::throw_error<TypeError>("[{}] shape {} holds {}; expected integers.", who, to_text(object),
                                     to_text(item));
    }
    const long long dim = PyLong_AsLongLong(number.get());
    if (dim == -1 && PyErr_Occurred()) throw PythonError{};
    return static_cast<int64_t>(dim);
  };
  Shape shape;
  if (PyIndex_Check(object)) {
    shape.push_back(to_dim(object));
    return shape;
  }
  const Owned items(PySequence_Fast(object, ""));
  if (!items) {
    PyErr_Clear();
    detail::throw_error<TypeError>("[{}] shape is of type {}; expected an integer or a sequence of integers.",
                                   who, type_name(object));
  }
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
  LOOMIX_CHECK(count <= Shape::kMaxDims, ValueError, "[{}] shape has {} axes; expected at most {}.", who,
               count, static_cast<int>(Shape::kMaxDims));
  for (Py_ssize_t i = 0; i < count; ++i) shape.push_back(to_dim(PySequence_Fast_GET_ITEM(items.get(), i)));
  return shape;
}

PyObject* shape_tuple(const Shape& shape) {
  Owned tuple(checked(PyTuple_New(std::max(shape.ndim(), 0))));
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    PyTuple_SET_ITEM(tuple.get(), axis, checked(PyLong_FromLongLong(shape[axis])));
  }
  return tuple.release();
}

Device to_device(PyObject* object, const char* who) {
  Owned current;
  if (object == nullptr || object == Py_None) {
    current = Owned(checked(PyObject_CallNoArgs(package_attribute("context", "current_context"))));
    object = current.get();
  }
  if (PyUnicode_Check(object)) return Device::parse(to_text(object));
  static PyObject* const kind = PyUnicode_InternFromString("device_typeid");
  static PyObject* const number = PyUnicode_InternFromString("device_id");
  const Owned type(PyObject_GetAttr(object, kind));
  const Owned id(type ? PyObject_GetAttr(object, number) : nullptr);
  if (!id) {
    PyErr_Clear();
    detail::throw_error<TypeError>(
        "[{}] ctx is of type {}; expected a Context such as mx.cpu().{}", who, type_name(object),
        PyLong_Check(object) ? " A shape with several axes is a tuple, as (2, 3)." : "");
  }
  return {static_cast<DeviceType>(PyLong_AsLong(type.get())), static_cast<int16_t>(PyLong_AsLong(id.get()))};
}

PyObject* context_object(Device device) {
  static PyObject* const host =
      checked(PyObject_CallFunction(package_attribute("context", "Context"), "si", "cpu", 0));
  if (device == Device::cpu()) return Py_NewRef(host);
  const std::string text = device.to_string();
  const std::string kind = text.substr(0, text.find('('));
  return checked(PyObject_CallFunction(package_attribute("context", "Context"), "si", kind.c_str(),
                                       static_cast<int>(device.id)));
}

double to_double(PyObject* object, const char* who) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) {
    const bool too_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
    PyErr_Clear();
    LOOMIX_CHECK(!too_large, ValueError, "[{}] the integer is too large; expected at most about 1.8e308.",
                 who);
    detail::throw_error<TypeError>("[{}] {} is of type {}; expected a number.", who, to_text(object),
                                   type_name(object));
  }
  return value;
}

}  // namespace loomix::python
