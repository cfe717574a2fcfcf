// SPDX-License-Identifier: Apache-2.0
// Module functions on whole arrays: files, records, copies between storage types.
#include "bindings/python/core/array/array_functions.h"
#include "bindings/python/core/operator/attr_cache.h"
#include "bindings/python/core/operator/invoke.h"
#include "bindings/python/core/operator/trace.h"

#include <fcntl.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/process/runtime.h"
#include "ndarray/array_file.h"
#include "ndarray/copy.h"
#include "ndarray/sparse.h"
#include "ops/table.h"

namespace loomix::python {
namespace {

namespace py = pybind11;

py::object to_python(NDArray array) { return py::reinterpret_steal<py::object>(wrap(std::move(array))); }

LoadOptions load_options() {
  PyObject* active = checked(PyObject_CallNoArgs(package_attribute("util", "is_np_shape")));
  LoadOptions options;
  options.numpy_shapes = active == Py_True;
  Py_DECREF(active);
  return options;
}

py::tuple to_python(ArrayList list) {
  py::list arrays;
  for (NDArray& array : list.arrays) arrays.append(to_python(std::move(array)));
  return py::make_tuple(list.names, arrays);
}

std::span<const std::byte> bytes_of(const py::bytes& bytes) {
  const std::string_view text = bytes;
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A file in memory, of which the system reads what is looked at. What is written there stays in this process.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (file >= 0 && ::fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
      size_ = static_cast<size_t>(info.st_size);
      place_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    }
    const int code = errno;
    if (file >= 0) ::close(file);
    LOOMIX_CHECK(file >= 0 && (size_ == 0 || place_ != MAP_FAILED), FileError, "[load] {}: {}.", path,
                 std::strerror(code));
    LOOMIX_CHECK(S_ISREG(info.st_mode), FileError, "[load] {}: not a regular file.", path);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (size_ > 0) ::munmap(place_, size_);
  }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(place_), size_}; }
  bool holds(const void* place) const {
    return place >= bytes().data() && place < bytes().data() + bytes().size();
  }

 private:
  void* place_ = nullptr;
  size_t size_ = 0;
};

// Large dense arrays lie in the mapped file, which stays as long as any of them.
ArrayList load_mapped(const std::string& path, LoadOptions options) {
  const auto file = std::make_shared<const MappedFile>(path);
  options.borrow = true;
  ArrayList list = load_arrays_from_buffer(engine(), file->bytes(), options, path);
  for (NDArray& array : list.arrays) {
    if (!array.is_dense()) continue;
    void* const place = array.view().data;
    if (file->holds(place))
      array = NDArray::from_external(engine(), place, array.shape(), array.dtype(), [file] {});
  }
  return list;
}

// A copy that is traced is an operator's, which stays on one device.
void copy_traced(const NDArray& from, NDArray& to) {
  LOOMIX_CHECK(
      from.device() == to.device() && from.is_dense() && to.is_dense(), StateError,
      "[copyto] forward of a hybridized block copies from {} to {}; expected dense arrays of one device.",
      from.device().to_string(), to.device().to_string());
  static const Operator identity = find_operator("_copy");
  static const Operator cast = find_operator("Cast");
  const NDArray* in[] = {&from};
  NDArray* const out[] = {&to};
  if (from.dtype() == to.dtype()) return invoke_into(*identity.def, identity.no_attrs, in, out);
  const auto attrs = operators().parse(*cast.def, TextPairs{{"dtype", std::string(name_of(to.dtype()))}});
  invoke_into(*cast.def, attrs, in, out);
}

}  // namespace

StorageType to_storage_type(const std::string& stype) {
  for (const StorageType known : {StorageType::dense, StorageType::row_sparse, StorageType::csr}) {
    if (stype == name_of(known)) return known;
  }
  detail::throw_error<ValueError>(
      "[stype] unknown storage type '{}'; expected 'default', 'row_sparse' or 'csr'.", stype);
}

void add_array_functions(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  m.def("load_arrays", [](const std::string& path) {
    const LoadOptions options = load_options();
    ArrayList list;
    {
      const py::gil_scoped_release release;
      list = load_arrays(engine(), path, options);
    }
    return to_python(std::move(list));
  });
  m.def("load_arrays_mapped", [](const std::string& path) {
    const LoadOptions options = load_options();
    ArrayList list;
    {
      const py::gil_scoped_release release;
      list = load_mapped(path, options);
    }
    return to_python(std::move(list));
  });
  m.def("load_arrays_from_bytes", [](const py::bytes& bytes) {
    return to_python(load_arrays_from_buffer(engine(), bytes_of(bytes), load_options()));
  });
  m.def("save_arrays",
        [](const std::string& path, const std::vector<std::string>& names, const py::list& arrays) {
          std::vector<NDArray> list;
          for (const py::handle item : arrays) list.push_back(to_array(item.ptr(), "save", "data"));
          const ArrayFormat format = load_options().numpy_shapes ? ArrayFormat::v3 : ArrayFormat::v2;
          const py::gil_scoped_release release;
          save_arrays(path, list, names, format);
        });
  m.def("record_bytes", [](const py::object& array) {
    const ArrayFormat format = load_options().numpy_shapes ? ArrayFormat::v3 : ArrayFormat::v2;
    return py::bytes(save_array_record(to_array(array.ptr(), "pickle", "array"), format));
  });
  m.def("array_from_record", [](const py::bytes& record) {
    // A pickle says nothing of shape rules, so both kinds load.
    return to_python(load_array_record(engine(), bytes_of(record), {.numpy_shapes = true}));
  });
  m.def("copy_array", [](const py::object& source, const py::object& target) {
    const NDArray& from = to_array(source.ptr(), "copyto", "source");
    NDArray& to = to_array(target.ptr(), "copyto", "other");
    if (active_trace()) copy_traced(from, to);
    else copy(from, to);
  });
  m.def("cast_storage", [](const py::object& source, const std::string& stype) {
    return to_python(cast_storage(to_array(source.ptr(), "tostype", "array"), to_storage_type(stype)));
  });
  m.def("make_row_sparse", [](const py::object& values, const py::object& rows,
                              const std::vector<int64_t>& shape) {
    return to_python(make_row_sparse(to_array(values.ptr(), "row_sparse_array", "data"),
                                     to_array(rows.ptr(), "row_sparse_array", "indices"), Shape(shape)));
  });
  m.def("make_csr", [](const py::object& values, const py::object& columns, const py::object& starts,
                       const std::vector<int64_t>& shape) {
    return to_python(make_csr(to_array(values.ptr(), "csr_matrix", "data"),
                              to_array(columns.ptr(), "csr_matrix", "indices"),
                              to_array(starts.ptr(), "csr_matrix", "indptr"), Shape(shape)));
  });
}

}  // namespace loomix::python
