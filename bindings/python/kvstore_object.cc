// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/kvstore_object.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "base/error.h"
#include "base/params.h"
#include "bindings/python/convert.h"
#include "bindings/python/errors.h"
#include "bindings/python/ndarray_object.h"
#include "bindings/python/runtime.h"
#include "kvstore/local_store.h"

namespace loomix::python {
namespace {

namespace py = pybind11;
using kvstore::Key;
using kvstore::KVStore;

Key to_key(const py::handle& object) {
  if (PyUnicode_Check(object.ptr())) return to_text(object.ptr());
  LOOMIX_CHECK(PyIndex_Check(object.ptr()) && !PyBool_Check(object.ptr()), TypeError,
               "[KVStore] key {} is a {}; expected an int or a str.", to_text(object.ptr()),
               type_name(object.ptr()));
  return py::cast<int64_t>(object);
}

py::object key_object(const Key& key) {
  return std::visit([](const auto& value) -> py::object { return py::cast(value); }, key);
}

py::object array_object(const NDArray& array) { return py::reinterpret_steal<py::object>(wrap(array)); }

// One array or a sequence of them.
std::vector<NDArray> to_arrays(const py::handle& object, const char* what) {
  if (is_array(object.ptr())) return {array_of(object.ptr())};
  LOOMIX_CHECK(PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()), TypeError,
               "[KVStore] {} is a {}; expected an NDArray or a list of them.", what, type_name(object.ptr()));
  std::vector<NDArray> arrays;
  for (const py::handle item : object) arrays.push_back(to_array(item.ptr(), "KVStore", what));
  return arrays;
}

void set_updater(KVStore& store, const py::object& function) {
  if (function.is_none()) return store.set_updater(nullptr);
  store.set_updater([function](const Key& key, const NDArray& merged, const NDArray& stored, int) {
    function(key_object(key), array_object(merged), array_object(stored));
  });
}

void set_compression(KVStore& store, const py::dict& given) {
  TextPairs pairs;
  for (const auto& [name, value] : given) pairs.emplace_back(to_text(name.ptr()), to_text(value.ptr()));
  const Ref<const AttrsBase> params =
      param_schema<kvstore::CompressionParams>().parse("set_gradient_compression", pairs);
  store.set_compression(params->as<kvstore::CompressionParams>());
}

}  // namespace

void add_store_type(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  py::class_<KVStore>(m, "StoreHandle")
      .def(py::init([](const std::string& type) { return kvstore::make_local_store(runtime(), type); }))
      .def_property_readonly("type", &KVStore::type)
      .def_property_readonly("rank", &KVStore::rank)
      .def_property_readonly("num_workers", &KVStore::num_workers)
      .def("init",
           [](KVStore& store, const py::object& key, const py::object& value) {
             const std::vector<NDArray> values = to_arrays(value, "value");
             LOOMIX_CHECK(!values.empty(), ValueError, "[KVStore] init got no value for key {}.",
                          kvstore::to_text(to_key(key)));
             store.init(to_key(key), values[0]);
           })
      .def("push", [](KVStore& store, const py::object& key, const py::object& values,
                      int priority) { store.push(to_key(key), to_arrays(values, "value"), priority); })
      .def("pull", [](KVStore& store, const py::object& key, const py::object& outs,
                      int priority) { store.pull(to_key(key), to_arrays(outs, "out"), priority); })
      .def("pushpull",
           [](KVStore& store, const py::object& key, const py::object& values, const py::object& outs,
              int priority) {
             store.pushpull(to_key(key), to_arrays(values, "value"), to_arrays(outs, "out"), priority);
           })
      .def("row_sparse_pull",
           [](KVStore& store, const py::object& key, const py::object& outs, const py::object& row_ids,
              int priority) {
             store.row_sparse_pull(to_key(key), to_arrays(outs, "out"), to_arrays(row_ids, "row_ids"),
                                   priority);
           })
      .def("stype",
           [](const KVStore& store, const py::object& key) { return name_of(store.stype(to_key(key))); })
      .def("set_updater", &set_updater)
      .def("set_gradient_compression", &set_compression);
}

}  // namespace loomix::python
