// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/data/data_iter.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/process/runtime.h"
#include "io/image/codec.h"
#include "io/iter/image_det_record_iter.h"
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

constexpr Kind kKinds[] = {
    kind<io::ImageRecordParams, io::make_image_record_iter>("ImageRecordIter"),
    kind<io::ImageDetRecordParams, io::make_image_det_record_iter>("ImageDetRecordIter")};

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

// The pixels of an encoded image, (H, W, C).
py::object decode(const py::buffer& buffer, int flag, bool to_rgb, int denominator) {
  const py::buffer_info info = buffer.request();
  if (!PyBuffer_IsContiguous(info.view(), 'C')) {
    detail::throw_error<ValueError>("[imdecode] the buffer has gaps; expected contiguous bytes.");
  }
  if (flag < -1 || flag > 1) {
    detail::throw_error<ValueError>(
        "[imdecode] flag is {}; expected 0 (grey), 1 (colour) or -1 (as in the file).", flag);
  }
  NDArray array;
  {
    engine::Engine& running = engine();
    const py::gil_scoped_release release;
    io::DecodeOptions options;
    options.color = static_cast<io::Color>(flag);
    options.jpeg_denominator = denominator;
    io::Image image =
        io::decode_image({static_cast<const uint8_t*>(info.ptr), size_t(info.size * info.itemsize)}, options);
    if (!to_rgb && image.channels() >= 3) {
      for (size_t i = 0; i < image.bytes(); i += size_t(image.channels())) {
        std::swap(image.data()[i], image.data()[i + 2]);
      }
    }
    array = NDArray(running, {image.height(), image.width(), image.channels()}, DType::uint8, Device::cpu());
    array.copy_from_host(image.data(), static_cast<int64_t>(image.bytes()));
  }
  return to_python(array);
}

py::bytes encode(const py::buffer& buffer, const std::string& format, int quality) {
  const py::buffer_info info = buffer.request();
  if (info.itemsize != 1 || info.ndim < 2 || info.ndim > 3 || !PyBuffer_IsContiguous(info.view(), 'C')) {
    detail::throw_error<ValueError>("[imencode] expected contiguous bytes of shape (H, W) or (H, W, C).");
  }
  constexpr py::ssize_t kMaxSide = 1 << 16;
  if (info.shape[0] > kMaxSide || info.shape[1] > kMaxSide) {
    detail::throw_error<ValueError>("[imencode] {} x {} pixels are too many.", info.shape[1], info.shape[0]);
  }
  io::ImageView view;
  view.data = static_cast<const uint8_t*>(info.ptr);
  view.height = static_cast<int>(info.shape[0]);
  view.width = static_cast<int>(info.shape[1]);
  view.channels = info.ndim == 3 ? static_cast<int>(info.shape[2]) : 1;
  view.stride = ptrdiff_t{view.width} * view.channels;
  const bool jpeg = format == ".jpg" || format == ".jpeg";
  if (!jpeg && format != ".png") {
    detail::throw_error<ValueError>("[imencode] format is '{}'; expected '.jpg' or '.png'.", format);
  }
  std::vector<uint8_t> bytes;
  {
    const py::gil_scoped_release release;
    bytes = jpeg ? io::encode_jpeg(view, quality) : io::encode_png(view, quality);
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
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
  m.def("imdecode", decode);
  m.def("imencode", encode);
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
