// SPDX-License-Identifier: Apache-2.0
// Array data in and out of Python: NumPy, the buffer protocol, DLPack.
#include <pybind11/numpy.h>

#include <cstring>
#include <memory>

#include "base/error.h"
#include "bindings/python/core/array/dlpack.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/kept.h"
#include "bindings/python/core/operator/trace.h"
#include "bindings/python/core/process/runtime.h"

namespace loomix::python {
namespace {

namespace py = pybind11;

NDArray& host_dense(PyObject* self, const char* who) {
  NDArray& array = array_of(self);
  LOOMIX_CHECK(!array.is_none(), ValueError, "[{}] the array holds nothing.", who);
  LOOMIX_CHECK(array.is_dense(), ValueError,
               "[{}] the array is {}; expected a dense one: use tostype('default').", who,
               name_of(array.stype()));
  LOOMIX_CHECK(array.device().is_host(), ValueError,
               "[{}] the array is on {}; expected one in host memory: use as_in_context(mx.cpu()).", who,
               array.device().to_string());
  check_readable(array, who);
  return array;
}

PyObject* as_numpy(PyObject* self, PyObject*) {
  return guarded([&] {
    const NDArray& array = array_of(self);
    LOOMIX_CHECK(!array.is_none(), ValueError, "[asnumpy] the array holds nothing.");
    check_readable(array, "asnumpy");
    LOOMIX_CHECK(array.is_dense(), ValueError, "[asnumpy] the array is {}; expected a dense one.",
                 name_of(array.stype()));
    const Shape& shape = array.shape();
    py::array result(py::reinterpret_borrow<py::dtype>(numpy_dtype(array.dtype())),
                     std::vector<py::ssize_t>(shape.begin(), shape.end()));
    array.copy_to_host(result.mutable_data(), array.bytes());
    return result.release().ptr();
  });
}

// Copies a C-contiguous NumPy array of the same type and size into this one.
PyObject* copy_from_numpy(PyObject* self, PyObject* source) {
  return guarded([&] {
    NDArray& array = array_of(self);
    const py::array data = py::reinterpret_borrow<py::object>(source);
    const bool fits = to_dtype(data.dtype().ptr(), "copy") == array.dtype() && data.size() == array.size() &&
                      (data.flags() & py::array::c_style) != 0;
    LOOMIX_CHECK(fits, ValueError, "[copy] the source has {} elements of {}; expected {} of {}, contiguous.",
                 data.size(), to_text(data.dtype().ptr()), array.size(), name_of(array.dtype()));
    array.copy_from_host(data.data(), array.bytes());
    return Py_NewRef(Py_None);
  });
}

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const NDArray& array = array_of(self);
    LOOMIX_CHECK(!array.is_none() && array.size() == 1, ValueError,
                 "[{}] The current array is not a scalar: its shape is {}; expected one element.",
                 class_of(self) == ArrayClass::np ? "np.ndarray" : "asscalar",
                 array.is_none() ? "None" : array.shape().to_string());
    check_readable(array, "asscalar");
    alignas(8) std::byte element[8];
    array.copy_to_host(element, array.bytes());
    return dispatch_all(array.dtype(), "asscalar", [&]<class T>(Type<T>) -> PyObject* {
      T value;
      std::memcpy(&value, element, sizeof(T));
      if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(value);
      else if constexpr (std::is_integral_v<T>) return PyLong_FromLongLong(value);
      else return PyFloat_FromDouble(static_cast<double>(value));
    });
  });
}

// from_numpy without a copy: the array keeps the NumPy array alive.
PyObject* share_numpy(PyObject*, PyObject* source) {
  return guarded([&] {
    const py::array data = py::reinterpret_borrow<py::object>(source);
    LOOMIX_CHECK((data.flags() & py::array::c_style) != 0, ValueError,
                 "[from_numpy] only C-contiguous arrays can be shared; use numpy.ascontiguousarray first.");
    Shape shape;
    for (py::ssize_t axis = 0; axis < data.ndim(); ++axis) shape.push_back(data.shape(axis));
    const DType dtype = to_dtype(data.dtype().ptr(), "from_numpy");
    return wrap(NDArray::from_external(engine(), const_cast<void*>(data.data()), shape, dtype,
                                       [owner = keep(source)] {}));
  });
}

const char* buffer_format(DType dtype) {
  switch (dtype) {
    case DType::float32: return "f";
    case DType::float64: return "d";
    case DType::float16: return "e";
    case DType::uint8: return "B";
    case DType::int8: return "b";
    case DType::int32: return "i";
    case DType::int64: return "q";
    case DType::boolean: return "?";
    default:
      detail::throw_error<TypeError>(
          "[buffer] Python's buffers have no format for {}; use astype('float32').", name_of(dtype));
  }
}

// What a Py_buffer points to: sizes, strides and a handle that keeps the memory.
struct Export {
  explicit Export(const NDArray& of) : array(of), exposure(of.storage_ref()) {}
  NDArray array;
  Exposure exposure;
  std::vector<Py_ssize_t> shape;
  std::vector<Py_ssize_t> strides;
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded(-1, [&] {
    NDArray& array = host_dense(self, "buffer");
    const char* format = buffer_format(array.dtype());
    if (flags & PyBUF_WRITABLE) {
      array.wait_to_write();
    } else {
      array.wait_to_read();
    }
    auto exported = std::make_unique<Export>(array);
    const Shape& shape = array.shape();
    exported->shape.assign(shape.begin(), shape.end());
    exported->strides.resize(exported->shape.size());
    Py_ssize_t stride = static_cast<Py_ssize_t>(size_of(array.dtype()));
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      exported->strides[axis] = stride;
      stride *= shape[axis];
    }
    view->buf = array.view().data;
    view->obj = Py_NewRef(self);
    view->len = array.bytes();
    view->itemsize = size_of(array.dtype());
    view->readonly = 0;
    view->ndim = shape.ndim();
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
    view->shape = (flags & PyBUF_ND) ? exported->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = exported.release();
    return 0;
  });
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Export*>(view->internal); }

PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  return guarded([&] {
    // stream, max_version, dl_device and copy: a host array has no stream, and is never copied unasked.
    static PyObject* const copy_name = PyUnicode_InternFromString("copy");
    bool copy = false;
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) {
      if (PyUnicode_Compare(PyTuple_GET_ITEM(kwnames, i), copy_name) == 0) copy = args[count + i] == Py_True;
    }
    NDArray array = host_dense(self, "dlpack");
    if (copy) {
      NDArray fresh(array.engine(), array.shape(), array.dtype(), array.device());
      array.wait_to_read();
      fresh.copy_from_host(array.view().data, array.bytes());
      array = std::move(fresh);
    }
    return dlpack_capsule(std::move(array));
  });
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
  return guarded([&] {
    host_dense(self, "dlpack");
    return checked(Py_BuildValue("(ii)", 1, 0));  // kDLCPU
  });
}

PyObject* dlpack_for_write(PyObject* self, PyObject*) {
  return guarded([&] {
    NDArray& array = host_dense(self, "dlpack");
    array.wait_to_write();
    return dlpack_capsule(array);
  });
}

PyObject* dlpack_for_read(PyObject* self, PyObject*) {
  return guarded([&] { return dlpack_capsule(host_dense(self, "dlpack")); });
}

PyObject* array_from_dlpack(PyObject*, PyObject* capsule) {
  return guarded([&] { return wrap(from_dlpack(capsule)); });
}

}  // namespace

PyMethodDef* exchange_methods() {
  static PyMethodDef methods[] = {
      {"asnumpy", as_numpy, METH_NOARGS, "A NumPy array with a copy of the elements; waits for them."},
      {"_copy_from_numpy", copy_from_numpy, METH_O, nullptr},
      {"_item", item, METH_NOARGS, "The only element as a Python number."},
      {"__dlpack__", as_method(dlpack), METH_FASTCALL | METH_KEYWORDS,
       "A DLPack capsule that shares the memory."},
      {"__dlpack_device__", dlpack_device, METH_NOARGS, "DLPack's device type and number."},
      {"to_dlpack_for_read", dlpack_for_read, METH_NOARGS, "A DLPack capsule over the computed array."},
      {"to_dlpack_for_write", dlpack_for_write, METH_NOARGS,
       "A DLPack capsule over the array once nothing reads or writes it."},
      {nullptr, nullptr, 0, nullptr}};
  return methods;
}

PyType_Slot* buffer_slots() {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                                {0, nullptr}};
  return slots;
}

PyMethodDef* exchange_functions() {
  static PyMethodDef functions[] = {{"share_numpy", share_numpy, METH_O, nullptr},
                                    {"from_dlpack", array_from_dlpack, METH_O, nullptr},
                                    {nullptr, nullptr, 0, nullptr}};
  return functions;
}

}  // namespace loomix::python
