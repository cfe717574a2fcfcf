// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <exception>
#include <string_view>
#include <utility>

namespace loomix::python {

// Thrown where Python's error indicator is set already; set_python_error() leaves the indicator as it is.
struct PythonError {};

// Sets Python's error indicator to what matches the exception in flight. Call it inside a catch block, with the GIL.
void set_python_error() noexcept;
// The same for pybind11, of what a bound function has thrown.
void translate_exception(std::exception_ptr error) noexcept;

// Lets the error that is set, if it is one of the package's, begin with this name in place of the one that it has: users of
// mx.np know no operators' names.
void name_error(std::string_view function) noexcept;

// The interpreter ends, in this thread. Others, which are daemons, now wait for the process' end instead of getting errors, which they
// would print while streams and modules are torn down: Python itself stops such a thread as well, where it next needs the GIL.
void begin_exit() noexcept;

// Runs `body` for a C slot: its result, or `failure` with Python's error set.
template <class Result, class Body>
Result guarded(Result failure, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    set_python_error();
    return failure;
  }
}
template <class Body>
PyObject* guarded(Body&& body) noexcept {
  return guarded<PyObject*>(nullptr, std::forward<Body>(body));
}

// Passes on the result of a Python C function that returns null on errors.
inline PyObject* checked(PyObject* object) {
  if (object == nullptr) throw PythonError{};
  return object;
}
inline void checked(int status) {
  if (status < 0) throw PythonError{};
}

// An owned reference.
class Owned {
 public:
  Owned() noexcept = default;
  explicit Owned(PyObject* object) noexcept : object_(object) {}  // takes the reference over
  static Owned borrow(PyObject* object) noexcept { return Owned(Py_XNewRef(object)); }
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() { Py_XDECREF(object_); }
  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// For method tables: METH_FASTCALL functions have more parameters than PyCFunction says.
template <class Function>
PyCFunction as_method(Function* function) noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// The attribute of a module of the package, imported when first asked for: package_attribute("base", "ShapeError").
// Borrowed: the reference lives as long as the interpreter.
PyObject* package_attribute(const char* module, const char* name);

}  // namespace loomix::python
