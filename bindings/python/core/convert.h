// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <string>

#include "base/device.h"
#include "base/dtype.h"
#include "base/shape.h"

// Between Python's values and ours. Functions that take a PyObject* throw TypeError or ValueError, naming `who`.
namespace loomix::python {

// NumPy type classes, dtypes, their names, and Python's float, int and bool.
DType to_dtype(PyObject* object, const char* who);
// As MXNet's `NDArray.dtype`: numpy.float32; borrowed. For bfloat16, which NumPy lacks, a structured uint16.
PyObject* dtype_class(DType dtype);
// numpy.dtype; borrowed.
PyObject* numpy_dtype(DType dtype);
// True for what names an element type without being text: a type class or a numpy.dtype.
bool is_dtype_object(PyObject* object);
bool is_numpy_array(PyObject* object);

// An integer, or a sequence of integers.
Shape to_shape(PyObject* object, const char* who);
PyObject* shape_tuple(const Shape& shape);  // new

// A Context; None is the thread's default device.
Device to_device(PyObject* object, const char* who);
PyObject* context_object(Device device);  // new

// NumPy's and Python's numbers.
double to_double(PyObject* object, const char* who);
std::string to_text(PyObject* object);  // str(object)
const char* type_name(PyObject* object);

}  // namespace loomix::python
