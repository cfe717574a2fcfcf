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

// "[broadcast_add] shapes ..." as "[np.add] shapes ...". What an operator said later, in a thread of the engine, stays: the function
// that runs now is another one.
std::string named(std::string text, std::string_view function) {
  const size_t end = text.find("] ");
  if (function.empty() || text.empty() || text[0] != '[' || end == std::string::npos ||
      text.find("\nin operator ") != std::string::npos)
    return text;
  return text.replace(1, end - 1, function);
}

constexpr std::string_view kNumpy = "loomix.numpy", kExtension = "loomix.numpy_extension";

// "np.random" for the module loomix.numpy.random, "npx" for loomix.numpy_extension; empty for others.
std::string short_module(std::string_view module) {
  for (const auto& [prefix, name] : {std::pair(kExtension, "npx"), std::pair(kNumpy, "np")}) {
    if (!module.starts_with(prefix)) continue;
    const std::string_view rest = module.substr(prefix.size());
    const bool is_public = rest == ".random" || rest == ".linalg" || rest == ".image";
    return is_public ? std::string(name).append(rest) : name;
  }
  return {};
}

// The function of mx.np or mx.npx that runs, and that something else has called: "np.linalg.inv". Empty for none.
std::string running_numpy_function() {
  namespace py = pybind11;
  std::string found;
  PyFrameObject* const top = PyEval_GetFrame();
  py::object frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(top));
  while (frame && !frame.is_none()) {
    const auto module = frame.attr("f_globals").attr("get")("__name__");
    const std::string place = py::isinstance<py::str>(module) ? short_module(module.cast<std::string>()) : "";
    if (place.empty()) break;
    const py::object code = frame.attr("f_code");
    std::string name =
        code.attr(py::hasattr(code, "co_qualname") ? "co_qualname" : "co_name").cast<std::string>();
    if (const size_t dunder = name.find(".__"); dunder != std::string::npos) name.resize(dunder);
    const bool is_public = name[0] != '_' && name.find('<') == std::string::npos;
    found = is_public ? place + '.' + name : "";
    frame = frame.attr("f_back");
  }
  return found;
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
    set_error(class_name(error), named(error.what(), running_numpy_function()).c_str());
  } catch (const std::bad_alloc&) {
    set_error("MXNetMemoryError", "[memory] the host has no memory left.");
  } catch (const std::exception& error) {
    set_error("InternalError", error.what());
  } catch (...) {
    set_error("InternalError", "[core] an exception of unknown type.");
  }
}

void name_error(std::string_view function) noexcept {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);  // nothing can be imported or asked for while an error is set
  PyErr_NormalizeException(&type, &value, &trace);
  try {
    const pybind11::handle error(value);
    if (PyErr_GivenExceptionMatches(type, package_attribute("base", "MXNetError"))) {
      const auto text = pybind11::str(error).cast<std::string>();
      if (const std::string other = named(text, function); other != text)
        error.attr("args") = pybind11::make_tuple(other);
    }
  } catch (...) {
    PyErr_Clear();  // the text that it has
  }
  PyErr_Restore(type, value, trace);
}

void translate_exception(std::exception_ptr error) noexcept {
  try {
    if (error) std::rethrow_exception(std::move(error));
  } catch (...) {
    set_python_error();
  }
}

}  // namespace loomix::python
