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

// A new object of the public class that fits the storage type.
PyObject* wrap(NDArray array);
// A list of them, or the only one.
PyObject* wrap_outputs(std::span<NDArray> arrays);

// ndarray_numbers.cc: arithmetic and comparison. Slots of the type; null ends the list.
PyType_Slot* number_slots();
// ndarray_exchange.cc: NumPy, buffers, DLPack, raw records. Null ends the lists.
PyMethodDef* exchange_methods();
PyType_Slot* buffer_slots();
PyMethodDef* exchange_functions();

}  // namespace loomix::python
