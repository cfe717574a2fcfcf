// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/data_iter.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings/python/ndarray_object.h"
#include "bindings/python/runtime.h"
#include "io/iter/image_record_iter.h"

namespace loomix::python {
namespace {

namespace py = pybind11;

struct Kind {
  const char* name;
  const ParamSchema& (*schema)();
  std::unique_ptr<io::BatchPipeline> (*make)(engine::Engine& engine, const AttrsBase& params);
};

template <class P, std::unique_ptr<io::BatchPipeline> (*make)(engine::Engine&, const P&)>
constexpr Kind kind(const char* name) {
  return {name, param_schema<P>,
          [](engine::Engine& engine, const AttrsBase& params) { return make(engine, params.as<P>()); }};
}

constexpr Kind kKinds[] = {kind<io::ImageRecordParams, io::make_image_record_iter>("ImageRecordIter")};

const Kind& find_kind(const std::string& name) {
  for (const Kind& known : kKinds) {
    if (name == known.name) return known;
  }
  detail::throw_error<KeyError>("[io] there is no iterator '{}'.", name);
}

py::object to_python(const NDArray& array) { return py::reinterpret_steal<py::object>(wrap(array)); }

py::tuple to_tuple(const Shape& shape) {
  py::tuple dims(shape.ndim());
  for (int i = 0; i < shape.ndim(); ++i) dims[static_cast<size_t>(i)] = shape[i];
  return dims;
}

}  // namespace

void add_data_iter(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  py::class_<io::BatchPipeline>(m, "BatchPipeline")
      .def(py::init([](const std::string& name, const TextPairs& given) {
        const Kind& found = find_kind(name);
        const auto params = found.schema().parse(name, given);
        engine::Engine& running = engine();
        const py::gil_scoped_release release;
        return found.make(running, *params);
      }))
      .def("next", &io::BatchPipeline::next)
      .def("reset", &io::BatchPipeline::reset)
      .def("data", [](const io::BatchPipeline& self) { return to_python(self.data()); })
      .def("label", [](const io::BatchPipeline& self) { return to_python(self.label()); })
      .def("pad", &io::BatchPipeline::pad)
      .def("index", [](const io::BatchPipeline& self) { return self.index(); })
      .def("skipped", &io::BatchPipeline::skipped)
      .def("skipped_reasons", &io::BatchPipeline::skipped_reasons)
      .def("batch_size", [](const io::BatchPipeline& self) { return self.options().batch_size; })
      .def("data_shape", [](const io::BatchPipeline& self) { return to_tuple(self.options().data_shape); })
      .def("label_shape", [](const io::BatchPipeline& self) { return to_tuple(self.options().label_shape); })
      .def("dtype", [](const io::BatchPipeline& self) { return std::string(name_of(self.options().dtype)); });
  // Name, type with default, and meaning of each parameter.
  m.def("iterator_parameters", [](const std::string& name) {
    std::vector<std::tuple<std::string, std::string, std::string>> rows;
    for (const FieldInfo& field : find_kind(name).schema().fields()) {
      rows.emplace_back(field.name, field.describe(), field.doc);
    }
    return rows;
  });
}

}  // namespace loomix::python
