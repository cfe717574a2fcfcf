// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include "ndarray/ndarray.h"

namespace loomix::python {

// The C struct behind loomix.ndarray.NDArray and its subclasses: a handle, shared with tasks in flight.
struct ArrayObject {
  PyObject_HEAD NDArray array;
};

// The base of the public class; number slots, properties and views are in C, the rest is Python's.
extern PyTypeObject* array_base_type;

// Makes the type, and puts it and its module functions into `module`.
void add_array_type(PyObject* module);

inline bool is_array(PyObject* object) {
  return Py_TYPE(object) == array_base_type || PyObject_TypeCheck(object, array_base_type);
}
inline NDArray& array_of(PyObject* object) { return reinterpret_cast<ArrayObject*>(object)->array; }
// Throws TypeError naming `who` and the argument.
NDArray& to_array(PyObject* object, const char* who, const char* argument);

// Which of Python's classes shows an array: mx.nd's, or mx.np's. Both are handles of the same kind.
enum class ArrayClass : uint8_t { nd, np };
// mx.np.ndarray; null until the NumPy front end is first used.
extern PyTypeObject* numpy_array_type;
inline bool is_numpy_like(PyObject* object) {
  return numpy_array_type &&
         (Py_TYPE(object) == numpy_array_type || PyObject_TypeCheck(object, numpy_array_type));
}
inline ArrayClass class_of(PyObject* object) {
  return is_numpy_like(object) ? ArrayClass::np : ArrayClass::nd;
}
inline ArrayClass common_class(std::span<PyObject* const> objects) {  // np if one is; null is none
  for (PyObject* object : objects) {
    if (object && is_numpy_like(object)) return ArrayClass::np;
  }
  return ArrayClass::nd;
}

// A new object of the public class that fits the storage type.
PyObject* wrap(NDArray array, ArrayClass shown_as = ArrayClass::nd);
// A list of them, or the only one.
PyObject* wrap_outputs(std::span<NDArray> arrays, ArrayClass shown_as = ArrayClass::nd);

// ndarray_numbers.cc: arithmetic and comparison. Slots of the type; null ends the list.
PyType_Slot* number_slots();
// ndarray_exchange.cc: NumPy, buffers, DLPack, raw records. Null ends the lists.
PyMethodDef* exchange_methods();
PyType_Slot* buffer_slots();
PyMethodDef* exchange_functions();
// numpy_numbers.cc: the base of mx.np.ndarray, with NumPy's operators; and `set_numpy_class`.
void add_numpy_array_type(PyObject* module);

}  // namespace loomix::python
