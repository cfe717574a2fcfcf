// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/process/source_line.h"

#include <frameobject.h>  // before Python 3.11 the frame is opaque without it

#include <string>
#include <string_view>
#include <unordered_map>

#include "bindings/python/core/errors.h"

namespace loomix::python {
namespace {

constexpr size_t kMaxKept = 1 << 16;  // code made at run time (exec) must not pile up without bound
constexpr int kMaxDepth = 16;

enum class Origin : uint8_t { user, package, forgotten };

std::string_view package_folder() {
  static const std::string folder = [] {
    std::string path;
    const Owned module(PyImport_ImportModule("loomix"));
    const Owned file(module ? PyObject_GetAttrString(module.get(), "__file__") : nullptr);
    const char* text = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
    if (text) path = text;
    PyErr_Clear();
    return path.substr(0, path.rfind('/') + 1);
  }();
  return folder;
}

Origin find_origin(PyCodeObject* code) {
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) {
    PyErr_Clear();
    return Origin::user;
  }
  const std::string_view folder = package_folder();
  return !folder.empty() && std::string_view(file).starts_with(folder) ? Origin::package : Origin::user;
}

// Holds every code object that it was asked about, so that a SourceLine stays valid.
Origin origin_of(PyCodeObject* code) {
  static auto& kept = *new std::unordered_map<PyCodeObject*, Origin>();
  static PyCodeObject* last = nullptr;
  static Origin last_origin = Origin::user;
  if (code == last) return last_origin;
  auto found = kept.find(code);
  if (found == kept.end()) {
    if (kept.size() >= kMaxKept) return Origin::forgotten;
    found = kept.emplace(code, find_origin(code)).first;
    Py_INCREF(code);
  }
  last = code;
  last_origin = found->second;
  return last_origin;
}

int offset_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030b0000
  return PyFrame_GetLasti(frame);
#else
  return frame->f_lasti * 2;
#endif
}

}  // namespace

SourceLine current_line() noexcept {
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return {};
  PyCodeObject* code = PyFrame_GetCode(frame);
  Py_DECREF(code);  // the frame keeps it
  const Origin origin = origin_of(code);
  if (origin == Origin::user) return {code, offset_of(frame)};
  if (origin == Origin::forgotten) return {};
  SourceLine innermost{code, offset_of(frame)};
  Owned outer;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    outer = Owned(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
    if (!outer) break;
    frame = reinterpret_cast<PyFrameObject*>(outer.get());
    code = PyFrame_GetCode(frame);
    Py_DECREF(code);
    if (origin_of(code) == Origin::user) return {code, offset_of(frame)};
  }
  return innermost;
}

std::string line_text(SourceLine line) {
  if (!line.code || !Py_IsInitialized()) return {};
  const PyGILState_STATE state = PyGILState_Ensure();
  const char* file = PyUnicode_AsUTF8(line.code->co_filename);
  const char* function = PyUnicode_AsUTF8(line.code->co_name);
  std::string text = std::string(file ? file : "?") + ':' +
                     std::to_string(PyCode_Addr2Line(line.code, line.offset)) + ", in " +
                     (function ? function : "?");
  if (!file || !function) PyErr_Clear();
  PyGILState_Release(state);
  return text;
}

}  // namespace loomix::python
