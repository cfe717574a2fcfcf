// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/errors.h"

#include <unistd.h>

#include <atomic>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>

#include <pybind11/pybind11.h>

#include "base/error.h"

namespace loomix::python {
namespace {

// The class of loomix.base for a C++ error; the most derived types come first.
const char* class_name(const Error& error) {
  if (dynamic_cast<const ShapeError*>(&error)) return "ShapeError";
  if (dynamic_cast<const ValueError*>(&error)) return "MXNetValueError";
  if (dynamic_cast<const TypeError*>(&error)) return "MXNetTypeError";
  if (dynamic_cast<const IndexError*>(&error)) return "MXNetIndexError";
  if (dynamic_cast<const KeyError*>(&error)) return "MXNetKeyError";
  if (dynamic_cast<const FileError*>(&error)) return "MXNetFileError";
  if (dynamic_cast<const DeviceError*>(&error)) return "DeviceError";
  if (dynamic_cast<const MemoryError*>(&error)) return "MXNetMemoryError";
  if (dynamic_cast<const NetworkError*>(&error)) return "NetworkError";
  if (dynamic_cast<const NotImplementedError*>(&error)) return "MXNetNotImplementedError";
  if (dynamic_cast<const StateError*>(&error)) return "StateError";
  if (dynamic_cast<const InternalError*>(&error)) return "InternalError";
  return "MXNetError";
}

void set_error(const char* name, const char* text) {
  try {
    PyErr_SetString(package_attribute("base", name), text);
  } catch (const PythonError&) {
    PyErr_Clear();  // the package is being torn down
    PyErr_SetString(PyExc_RuntimeError, text);
  }
}

std::atomic<std::thread::id> exiting;

void stop_other_threads_at_exit() {
  const std::thread::id thread = exiting.load();
  if (thread == std::thread::id() || thread == std::this_thread::get_id()) return;
  PyEval_SaveThread();
  for (;;) pause();
}

}  // namespace

void begin_exit() noexcept { exiting = std::this_thread::get_id(); }

PyObject* package_attribute(const char* module, const char* name) {
  static auto& known =
      *new std::unordered_map<std::string, PyObject*>();  // outlives the interpreter's teardown
  const std::string key = std::string(module) + '.' + name;
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const Owned loaded(checked(PyImport_ImportModule((std::string("loomix.") + module).c_str())));
  PyObject* value = checked(PyObject_GetAttrString(loaded.get(), name));
  known.emplace(key, value);
  return value;
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const pybind11::builtin_exception& error) {
    error.set_error();
  } catch (const Interrupted&) {  // the signal's handler has set the indicator
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (const Error& error) {
    stop_other_threads_at_exit();
    set_error(class_name(error), error.what());
  } catch (const std::bad_alloc&) {
    set_error("MXNetMemoryError", "[memory] the host has no memory left.");
  } catch (const std::exception& error) {
    set_error("InternalError", error.what());
  } catch (...) {
    set_error("InternalError", "[core] an exception of unknown type.");
  }
}

void translate_exception(std::exception_ptr error) noexcept {
  try {
    if (error) std::rethrow_exception(std::move(error));
  } catch (...) {
    set_python_error();
  }
}

}  // namespace loomix::python
