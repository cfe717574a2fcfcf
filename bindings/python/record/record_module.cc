// SPDX-License-Identifier: Apache-2.0
// The extension loomix._record: record files with neither engine nor arrays behind them.
#include <Python.h>

#include "bindings/python/core/errors.h"
#include "bindings/python/record/record_file.h"
#include "bindings/python/record/record_files.h"
#include "io/record/index.h"

namespace loomix::python {
namespace {

// read_index(path) -> (list of keys, dict key -> offset): the lines of an index whose keys are whole numbers.
PyObject* read_index(PyObject*, PyObject* path) {
  return guarded([&] {
    const char* name = PyUnicode_AsUTF8(path);
    if (name == nullptr) throw PythonError{};
    const auto entries = io::read_index(name);
    Owned keys(checked(PyList_New(static_cast<Py_ssize_t>(entries.size()))));
    const Owned offsets(checked(PyDict_New()));
    for (size_t i = 0; i < entries.size(); ++i) {
      PyObject* key = checked(PyLong_FromLongLong(entries[i].key));
      PyList_SET_ITEM(keys.get(), static_cast<Py_ssize_t>(i), key);
      const Owned offset(checked(PyLong_FromUnsignedLongLong(entries[i].offset)));
      checked(PyDict_SetItem(offsets.get(), key, offset.get()));
    }
    return checked(PyTuple_Pack(2, keys.get(), offsets.get()));
  });
}

PyMethodDef functions[] = {
    {"read_index", read_index, METH_O, nullptr},
    {},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "loomix._record",
                          "Record files in C++.",
                          0,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace loomix::python

PyMODINIT_FUNC PyInit__record() {
  using namespace loomix::python;
  return guarded([] {
    Owned module(checked(PyModule_Create(&definition)));
    add_record_file(module.get());
    add_record_files(module.get());
    return module.release();
  });
}
