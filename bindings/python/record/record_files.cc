// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/record/record_files.h"

#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/record/without_gil.h"
#include "io/record/files.h"

namespace loomix::python {
namespace {

struct State {
  std::mutex busy;  // taken without the GIL
  std::unique_ptr<io::RecordFiles> files;
  pid_t process = 0;
};

struct RecordFiles {
  PyObject_HEAD State* state;
};

// Calls `body(files)` without the GIL, then `result()` with it, and lets no other thread in meanwhile.
template <class Body, class Result>
PyObject* with_files(PyObject* self, Body&& body, Result&& result) {
  return guarded([&] {
    State& state = *reinterpret_cast<RecordFiles*>(self)->state;
    LOOMIX_CHECK(state.files == nullptr || state.process == getpid(), StateError,
                 "[RecordFiles] the files were opened before this process was forked; open them again.");
    std::unique_lock lock(state.busy, std::defer_lock);
    {
      const WithoutGil quiet;
      lock.lock();
      LOOMIX_CHECK(state.files != nullptr, StateError, "[RecordFiles] no files are open.");
      body(*state.files);
    }
    return result(*state.files);
  });
}

PyObject* open_files(PyObject* self, PyObject* args) {
  return guarded([&] {
    PyObject* names = nullptr;
    long long part_index = 0, num_parts = 1;
    int skip = 0;
    checked(PyArg_ParseTuple(args, "O!LLp", &PyList_Type, &names, &part_index, &num_parts, &skip) ? 0 : -1);
    std::vector<std::string> uris;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i) {
      const char* const uri = PyUnicode_AsUTF8(PyList_GET_ITEM(names, i));
      if (uri == nullptr) throw PythonError{};
      uris.emplace_back(uri);
    }
    io::RecordFilesOptions options;
    options.part_index = part_index;
    options.num_parts = num_parts;
    options.on_damage = skip != 0 ? io::OnDamage::skip : io::OnDamage::raise;
    State& state = *reinterpret_cast<RecordFiles*>(self)->state;
    {
      const WithoutGil quiet;
      auto files = std::make_unique<io::RecordFiles>(std::move(uris), std::move(options));
      const std::lock_guard lock(state.busy);
      state.files = std::move(files);
      state.process = getpid();
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* next(PyObject* self) {
  std::optional<io::Bytes> record;
  return with_files(
      self, [&](io::RecordFiles& files) { record = files.next(); },
      [&](io::RecordFiles&) -> PyObject* {
        if (!record) return nullptr;
        return checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(record->data()),
                                                 static_cast<Py_ssize_t>(record->size())));
      });
}

PyObject* read(PyObject* self, PyObject*) {
  PyObject* const record = next(self);
  return record == nullptr && !PyErr_Occurred() ? Py_NewRef(Py_None) : record;
}

PyObject* reset(PyObject* self, PyObject*) {
  return with_files(
      self, [](io::RecordFiles& files) { files.reset(); },
      [](io::RecordFiles&) { return Py_NewRef(Py_None); });
}

constexpr auto kNothing = [](const io::RecordFiles&) {};

PyObject* file(PyObject* self, void*) {
  return with_files(self, kNothing, [](const io::RecordFiles& files) {
    return checked(PyUnicode_DecodeFSDefault(files.file().c_str()));
  });
}

PyObject* offset(PyObject* self, void*) {
  return with_files(self, kNothing, [](const io::RecordFiles& files) {
    return checked(PyLong_FromUnsignedLongLong(files.offset()));
  });
}

PyObject* damage_count(PyObject* self, void*) {
  return with_files(self, kNothing, [](const io::RecordFiles& files) {
    return checked(PyLong_FromUnsignedLongLong(files.damage_count()));
  });
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] {
    PyObject* self = checked(type->tp_alloc(type, 0));
    reinterpret_cast<RecordFiles*>(self)->state = new State;
    return self;
  });
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  delete reinterpret_cast<RecordFiles*>(self)->state;
  type->tp_free(self);
  Py_DECREF(type);
}

// clang-format off
PyMethodDef methods[] = {
    {"read", read, METH_NOARGS, "Returns the next record as bytes, or None after the last."},
    {"reset", reset, METH_NOARGS, "Begins again with the first record."},
    {"_open", open_files, METH_VARARGS, nullptr},
    {},
};
PyGetSetDef properties[] = {
    {"file", file, nullptr, "The file that the record that was read last came from.", nullptr},
    {"offset", offset, nullptr, "Where in its file the record that was read last begins.", nullptr},
    {"damage_count", damage_count, nullptr, "The number of all damages so far.", nullptr},
    {},
};
// clang-format on

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(&make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
    {Py_tp_iter, reinterpret_cast<void*>(&PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(&next)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>("The records of several files.")},
    {},
};
PyType_Spec spec = {"loomix._record.RecordFiles", sizeof(RecordFiles), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

void add_record_files(PyObject* module) {
  const Owned type(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "RecordFiles", type.get()));
}

}  // namespace loomix::python
