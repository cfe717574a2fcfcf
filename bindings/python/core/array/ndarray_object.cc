// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/operator/invoke.h"
#include "bindings/python/core/operator/trace.h"

#include <new>
#include <vector>

#include "base/error.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/executor/autograd.h"
#include "bindings/python/core/operator/attr_cache.h"
#include "bindings/python/core/process/runtime.h"
#include "ops/shape_rule.h"
#include "symbol/autograd/tape.h"

namespace loomix::python {

PyTypeObject* array_base_type = nullptr;
PyTypeObject* numpy_array_type = nullptr;

namespace {

PyTypeObject* public_types[3] = {};  // by StorageType; set once the Python classes exist

PyObject* array_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"handle", "writable", nullptr};
    PyObject* handle = Py_None;
    int writable = 1;
    checked(PyArg_ParseTupleAndKeywords(args, kwargs, "|Op:NDArray", const_cast<char**>(names), &handle,
                                        &writable) -
            1);
    LOOMIX_CHECK(handle == Py_None || is_array(handle), TypeError,
                 "[NDArray] handle is of type {}; expected an NDArray to share, or None. To make an array of "
                 "values, use "
                 "nd.array(values).",
                 type_name(handle));
    PyObject* self = checked(type->tp_alloc(type, 0));
    ::new (&array_of(self)) NDArray();
    if (handle != Py_None) array_of(self) = array_of(handle);
    return self;
  });
}

void array_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  array_of(self).~NDArray();
  type->tp_free(self);
  Py_DECREF(type);
}

const NDArray& checked_array(PyObject* self, const char* who) {
  const NDArray& array = array_of(self);
  LOOMIX_CHECK(!array.is_none(), ValueError,
               "[{}] the array holds nothing (it was made as NDArray(None), or loaded so).", who);
  return array;
}

// The shape for Python, which may decide by it.
const Shape& shape_to_show(const NDArray& array) {
  if (!array.shape_is_known()) [[unlikely]]
    check_readable(array, "shape");
  return array.shape();
}

PyObject* get_shape(PyObject* self, void*) {
  return guarded(
      [&] { return array_of(self).is_none() ? PyTuple_New(0) : shape_tuple(shape_to_show(array_of(self))); });
}
PyObject* get_ndim(PyObject* self, void*) {
  return guarded(
      [&] { return PyLong_FromLong(array_of(self).is_none() ? 0 : shape_to_show(array_of(self)).ndim()); });
}
PyObject* get_size(PyObject* self, void*) {
  return guarded([&] {
    return PyLong_FromLongLong(array_of(self).is_none() ? 0 : shape_to_show(array_of(self)).size());
  });
}
PyObject* get_dtype(PyObject* self, void*) {
  return guarded([&] { return Py_NewRef(dtype_class(array_of(self).dtype())); });
}
PyObject* get_context(PyObject* self, void*) {
  return guarded(
      [&] { return context_object(array_of(self).is_none() ? Device::cpu() : array_of(self).device()); });
}
PyObject* get_stype(PyObject* self, void*) {
  return PyUnicode_InternFromString(name_of(array_of(self).stype()));
}
PyObject* get_self(PyObject* self, void*) { return Py_NewRef(self); }
PyObject* get_version(PyObject* self, void*) {
  return guarded([&] {
    LOOMIX_CHECK(!array_of(self).is_none(), ValueError, "[NDArray] an empty handle has no memory.");
    return checked(PyLong_FromUnsignedLongLong(array_of(self).storage().version()));
  });
}
PyObject* get_fresh_gradient(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromLong(autograd::has_fresh_gradient(array_of(self))); });
}
int set_fresh_gradient(PyObject* self, PyObject* fresh, void*) {
  PyObject* const done = guarded([&] {
    autograd::set_fresh_gradient(array_of(self), fresh && PyObject_IsTrue(fresh) == 1);
    return Py_NewRef(Py_None);
  });
  Py_XDECREF(done);
  return done ? 0 : -1;
}
PyObject* get_is_none(PyObject* self, void*) { return PyBool_FromLong(array_of(self).is_none()); }

PyObject* wait_to_read(PyObject* self, PyObject*) {
  return guarded([&] {
    if (!array_of(self).is_none()) array_of(self).wait_to_read();
    return Py_NewRef(Py_None);
  });
}
PyObject* wait_to_write(PyObject* self, PyObject*) {
  return guarded([&] {
    if (!array_of(self).is_none()) array_of(self).wait_to_write();
    return Py_NewRef(Py_None);
  });
}

PyObject* view_at(PyObject* self, PyObject* index) {
  return guarded([&] {
    const Py_ssize_t position = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (position == -1 && PyErr_Occurred()) throw PythonError{};
    NDArray item = checked_array(self, "_at").at(position);
    if (item.shape().ndim() == 0 && !ops::numpy_shapes()) item = item.reshape(Shape{1});
    return wrap(std::move(item), class_of(self));
  });
}

PyObject* view_slice(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    LOOMIX_CHECK(count == 2, TypeError, "[_slice] got {} arguments; expected start and stop.", count);
    const long long begin = PyLong_AsLongLong(args[0]);
    const long long end = PyLong_AsLongLong(args[1]);
    if (PyErr_Occurred()) throw PythonError{};
    return wrap(checked_array(self, "_slice").slice(begin, end), class_of(self));
  });
}

PyObject* view_reshape(PyObject* self, PyObject* shape) {
  return guarded([&] {
    return wrap(checked_array(self, "reshape").reshape(to_shape(shape, "reshape")), class_of(self));
  });
}

// A view, which the tape and a trace learn of as the operator.
PyObject* reshaped_view(const Operator& op, const Ref<const AttrsBase>& attrs, const NDArray& array,
                        const Shape& shape, ArrayClass shown_as) {
  NDArray view = array.reshape(shape);
  const NDArray* in[] = {&array};
  if (autograd::should_record(in)) autograd::record_view(*op.def, attrs, array, view);
  if (Trace* const trace = active_trace()) {
    const NDArray* out[] = {&view};
    trace->after(*op.def, attrs, in, trace->before(*op.def, in, {}), out, nullptr);
  }
  return wrap(std::move(view), shown_as);
}

// reshape with MXNet's special sizes: a view, which the tape learns of as the operator.
PyObject* reshape(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    LOOMIX_CHECK(count == 2, TypeError, "[reshape] got {} arguments; expected shape and reverse.", count);
    static const Operator op = find_operator("Reshape");
    static const int shape_field = field_position(*op.def, "shape");
    static const int reverse_field = field_position(*op.def, "reverse");
    const GivenAttr given[] = {{shape_field, args[0]}, {reverse_field, args[1]}};
    const Ref<const AttrsBase> attrs = op.cache->get(given, -1);
    const NDArray& array = checked_array(self, "reshape");
    Shape shapes[] = {array.shape(), Shape::unknown()};
    ops::ShapeInfer infer(*op.def, std::span(shapes, 1), std::span(shapes + 1, 1));
    op.def->infer_shape(*attrs, infer);
    return reshaped_view(op, attrs, array, shapes[1], class_of(self));
  });
}

// reshape by NumPy's rule: plain sizes, of which one may be -1. A view, which the tape learns of as the operator.
PyObject* reshape_plain(PyObject* self, PyObject* sizes) {
  return guarded([&] {
    static const Operator op = find_operator("_np_reshape");
    static const int field = field_position(*op.def, "newshape");
    const NDArray& array = checked_array(self, "reshape");
    const GivenAttr given[] = {{field, sizes}};
    const Ref<const AttrsBase> attrs = op.cache->get(given, -1);
    Shape shapes[] = {array.shape(), Shape::unknown()};
    ops::ShapeInfer infer(*op.def, std::span(shapes, 1), std::span(shapes + 1, 1));
    op.def->infer_shape(*attrs, infer);
    return reshaped_view(op, attrs, array, shapes[1], class_of(self));
  });
}

// A handle without the gradient tape's entry.
PyObject* detach(PyObject* self, PyObject*) {
  return guarded([&] {
    NDArray array = array_of(self);
    if (active_trace() && !array.is_none()) {
      static const Operator stop = find_operator("BlockGrad");
      const NDArray* in[] = {&array};
      return invoke_one(*stop.def, stop.no_attrs, in, class_of(self));
    }
    array.set_tape(nullptr);
    return wrap(std::move(array), class_of(self));
  });
}

PyObject* shares_memory(PyObject* self, PyObject* other) {
  return guarded([&] {
    const NDArray& array = to_array(other, "_shares_memory", "other");
    return PyBool_FromLong(!array.is_none() && !array_of(self).is_none() && array_of(self).overlaps(array));
  });
}

// Takes the place of what `other` refers to: used when a handle is filled late (unpickling).
PyObject* adopt(PyObject* self, PyObject* other) {
  return guarded([&] {
    array_of(self) = to_array(other, "_adopt", "other");
    return Py_NewRef(Py_None);
  });
}

template <NDArray (NDArray::*Part)() const>
PyObject* stored_part(PyObject* self, PyObject*) {
  return guarded([&] { return wrap((checked_array(self, "sparse").*Part)()); });
}

PyObject* stored_count(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromLongLong(checked_array(self, "sparse").stored_count()); });
}

Py_ssize_t length(PyObject* self) {
  return guarded<Py_ssize_t>(-1, [&]() -> Py_ssize_t {
    const Shape& shape = checked_array(self, "len").shape();
    LOOMIX_CHECK(shape.ndim() > 0, TypeError,
                 "[len] the array is a scalar of shape (); expected at least one axis.");
    return shape[0];
  });
}

PyObject* call_python(PyObject* self, const char* method, PyObject* key, PyObject* value = nullptr) {
  const Owned name(checked(PyUnicode_InternFromString(method)));
  PyObject* args[] = {self, key, value};
  PyObject* const result = PyObject_VectorcallMethod(name.get(), args, value ? 3 : 2, nullptr);
  if (!result && is_numpy_like(self)) name_error("np.ndarray");
  return checked(result);
}

// a[i] and a[i:j] of the first axis are views, made here while nothing is recorded; all else is for Python.
PyObject* subscript(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    const NDArray& array = array_of(self);
    const bool simple = array.is_dense() && !is_recording();
    if (simple && PyLong_CheckExact(key) && array.shape().ndim() > 1) {
      const long long index = PyLong_AsLongLong(key);
      const int64_t size = array.shape()[0];
      if (index < size && index >= -size)
        return wrap(array.at(index < 0 ? index + size : index), class_of(self));
    } else if (simple && PySlice_Check(key) && array.shape().ndim() > 0) {
      Py_ssize_t begin = 0, end = 0, step = 1;
      checked(PySlice_Unpack(key, &begin, &end, &step));
      const Py_ssize_t count = PySlice_AdjustIndices(array.shape()[0], &begin, &end, step);
      if (step == 1 && count > 0) return wrap(array.slice(begin, end), class_of(self));
    }
    return call_python(self, "_get_item", key);
  });
}

int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(-1, [&] {
    LOOMIX_CHECK(value != nullptr, TypeError, "[NDArray] elements cannot be deleted.");
    const Owned result(call_python(self, "_set_item", key, value));
    return 0;
  });
}

PyMethodDef kMethods[] = {
    {"wait_to_read", wait_to_read, METH_NOARGS,
     "Waits until the array is computed; raises the error of the operation that should have written it."},
    {"wait_to_write", wait_to_write, METH_NOARGS,
     "Waits until every operation that reads or writes the array is done."},
    {"_at", view_at, METH_O, "The view of one item of the first axis."},
    {"_slice", as_method(view_slice), METH_FASTCALL, "The view of a range of the first axis."},
    {"_reshape_view", view_reshape, METH_O, "The same memory in another shape, all sizes given."},
    {"_reshape_special", as_method(reshape), METH_FASTCALL,
     "Reshaped by the operator's rules; shares memory."},
    {"_reshape_plain", reshape_plain, METH_O, "Reshaped to a tuple of sizes, one of which may be -1."},
    {"_detach", detach, METH_NOARGS, "The same array, unknown to the gradient tape."},
    {"_shares_memory", shares_memory, METH_O, "Whether two arrays have elements in common."},
    {"_adopt", adopt, METH_O, "Lets this object refer to another one's array."},
    {"_stored_values", stored_part<&NDArray::stored_values>, METH_NOARGS,
     "The values that a sparse array stores."},
    {"_stored_indices", stored_part<&NDArray::stored_indices>, METH_NOARGS, "Their rows or columns."},
    {"_stored_indptr", stored_part<&NDArray::stored_indptr>, METH_NOARGS,
     "Where each row of a csr array starts."},
    {"_stored_count", stored_count, METH_NOARGS, "How many rows or values a sparse array stores."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef kProperties[] = {
    {"shape", get_shape, nullptr, "The sizes of the axes, a tuple.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type, as NumPy's type class.", nullptr},
    {"context", get_context, nullptr, "The device that holds the array.", nullptr},
    {"ctx", get_context, nullptr, "The device that holds the array.", nullptr},
    {"stype", get_stype, nullptr, "The storage type: 'default', 'row_sparse' or 'csr'.", nullptr},
    {"handle", get_self, nullptr, "The array itself, for code that passes handles.", nullptr},
    {"_is_none", get_is_none, nullptr, "Whether this is an empty handle.", nullptr},
    {"_version", get_version, nullptr, "Grows with each write that is pushed to the memory.", nullptr},
    {"_fresh_grad", get_fresh_gradient, set_fresh_gradient,
     "Whether the gradient was written since this was set to False.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// Tells the extension the public classes: set_array_classes(dense, row_sparse, csr).
PyObject* set_array_classes(PyObject*, PyObject* args) {
  return guarded([&] {
    for (int i = 0; i < 3; ++i) {
      PyObject* type = PyTuple_GetItem(args, i);
      LOOMIX_CHECK(type && PyType_Check(type) &&
                       PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), array_base_type),
                   TypeError, "[set_array_classes] expected three subclasses of NDArrayBase.");
      public_types[i] = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* empty(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    LOOMIX_CHECK(count == 3, TypeError, "[empty] got {} arguments; expected shape, ctx and dtype.", count);
    const Shape shape = to_shape(args[0], "empty");
    LOOMIX_CHECK(shape.is_known(), ValueError, "[empty] shape {} has a negative size.", shape.to_string());
    return wrap(NDArray(engine(), shape, to_dtype(args[2], "empty"), to_device(args[1], "empty")));
  });
}

PyObject* empty_sparse(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    LOOMIX_CHECK(count == 4, TypeError, "[empty] got {} arguments; expected stype, shape, ctx and dtype.",
                 count);
    const std::string stype = to_text(args[0]);
    LOOMIX_CHECK(stype == "row_sparse" || stype == "csr", ValueError,
                 "[sparse] unknown storage type '{}'; expected 'row_sparse' or 'csr'.", stype);
    return wrap(NDArray::sparse(engine(), stype == "csr" ? StorageType::csr : StorageType::row_sparse,
                                to_shape(args[1], "sparse"), to_dtype(args[3], "sparse"),
                                to_device(args[2], "sparse")));
  });
}

PyMethodDef kArrayFunctions[] = {{"set_array_classes", set_array_classes, METH_VARARGS, nullptr},
                                 {"empty", as_method(empty), METH_FASTCALL, nullptr},
                                 {"empty_sparse", as_method(empty_sparse), METH_FASTCALL, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace

NDArray& to_array(PyObject* object, const char* who, const char* argument) {
  LOOMIX_CHECK(is_array(object), TypeError, "[{}] {} is of type {}; expected an NDArray.", who, argument,
               type_name(object));
  return array_of(object);
}

PyObject* wrap(NDArray array, ArrayClass shown_as) {
  const StorageType stype = array.stype();
  const bool plain = stype == StorageType::dense || stype == StorageType::undefined;
  PyTypeObject* type = public_types[stype == StorageType::undefined ? 0 : static_cast<int>(stype)];
  if (!type) [[unlikely]] {
    package_attribute("ndarray", "NDArray");  // which sets them
    type = public_types[stype == StorageType::undefined ? 0 : static_cast<int>(stype)];
  }
  if (shown_as == ArrayClass::np && plain) {
    if (!numpy_array_type) [[unlikely]]
      package_attribute("numpy", "ndarray");
    type = numpy_array_type;
  }
  PyObject* self = checked(type->tp_alloc(type, 0));
  ::new (&array_of(self)) NDArray(std::move(array));
  return self;
}

PyObject* wrap_outputs(std::span<NDArray> arrays, ArrayClass shown_as) {
  if (arrays.size() == 1) return wrap(std::move(arrays[0]), shown_as);
  Owned list(checked(PyList_New(static_cast<Py_ssize_t>(arrays.size()))));
  for (size_t i = 0; i < arrays.size(); ++i)
    PyList_SET_ITEM(list.get(), i, wrap(std::move(arrays[i]), shown_as));
  return list.release();
}

void add_array_type(PyObject* module) {
  static std::vector<PyMethodDef> methods;  // CPython keeps pointers into it
  for (PyMethodDef* list : {kMethods, exchange_methods(), autograd_methods()}) {
    for (; list->ml_name; ++list) methods.push_back(*list);
  }
  methods.push_back({nullptr, nullptr, 0, nullptr});
  std::vector<PyType_Slot> slots = {
      {Py_tp_new, reinterpret_cast<void*>(array_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(array_dealloc)},
      {Py_tp_methods, methods.data()},
      {Py_tp_getset, kProperties},
      {Py_mp_length, reinterpret_cast<void*>(length)},
      {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(assign_subscript)},
      {Py_tp_doc, const_cast<char*>("The part of NDArray that is written in C.")},
  };
  for (PyType_Slot* list : {number_slots(), buffer_slots()}) {
    for (; list->slot; ++list) slots.push_back(*list);
  }
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"loomix._core.NDArrayBase", sizeof(ArrayObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots.data()};
  array_base_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "NDArrayBase", reinterpret_cast<PyObject*>(array_base_type)));
  checked(PyModule_AddFunctions(module, kArrayFunctions));
  checked(PyModule_AddFunctions(module, exchange_functions()));
}

}  // namespace loomix::python
