// SPDX-License-Identifier: Apache-2.0
#include "ndarray/array_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "ndarray/byte_source.h"
#include "ndarray/copy.h"

namespace loomix {

namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian");

constexpr uint64_t kListMagic = 0x112;
constexpr uint32_t kMagicV1 = 0xF993fac8;
constexpr uint32_t kMagicV2 = 0xF993fac9;
constexpr uint32_t kMagicV3 = 0xF993faca;

DType read_dtype(ByteSource& in) {
  const int32_t code = in.number<int32_t>("the type code");
  const bool fits = code >= 0 && code <= 127;
  if (!fits || !is_valid(static_cast<DType>(code))) in.fail("{} is no type code", code);
  return static_cast<DType>(code);
}

// Arrays of devices that this process has not are loaded to the CPU, as are all kinds of host memory.
Device read_device(ByteSource& in, engine::Engine& engine) {
  const int32_t type = in.number<int32_t>("the device");
  const int32_t id = in.number<int32_t>("the device");
  if (type != static_cast<int32_t>(DeviceType::gpu) || id < 0 || id > INT16_MAX) return Device::cpu();
  try {
    engine.device(Device::gpu(id));
    return Device::gpu(id);
  } catch (const DeviceError&) {
    return Device::cpu();
  }
}

template <class Size>
Shape read_sizes(ByteSource& in, int64_t ndim) {
  if (ndim > Shape::kMaxDims) in.fail("{} axes; at most {} are allowed", ndim, Shape::kMaxDims);
  Shape shape;
  for (int64_t axis = 0; axis < ndim; ++axis)
    shape.push_back(static_cast<int64_t>(in.number<Size>("a shape")));
  return shape;
}

// Unknown for a negative number of axes or a negative size.
Shape read_shape(ByteSource& in) {
  const int32_t ndim = in.number<int32_t>("a shape");
  if (ndim < 0) return Shape::unknown();
  const Shape shape = read_sizes<int64_t>(in, ndim);
  return shape.is_known() ? shape : Shape::unknown();
}

// The number of elements, after checking that that many bytes are left.
int64_t checked_count(const ByteSource& in, const Shape& shape, int64_t item_bytes, const char* what) {
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) in.fail("{} has an impossible shape", what);
  }
  in.require(count, item_bytes, what);
  return count;
}

NDArray read_dense(ByteSource& in, engine::Engine& engine, const Shape& shape, Device device, DType dtype,
                   LoadOptions options) {
  const int64_t bytes = checked_count(in, shape, size_of(dtype), "an array") * size_of(dtype);
  const std::byte* const place = options.borrow && device.is_host() && bytes >= LoadOptions::kLargeBytes
                                     ? in.borrow(bytes, "an array")
                                     : nullptr;
  if (place && reinterpret_cast<uintptr_t>(place) % static_cast<uintptr_t>(size_of(dtype)) == 0)
    return NDArray::from_external(engine, const_cast<std::byte*>(place), shape, dtype, {});
  NDArray array(engine, shape, dtype, Device::cpu());
  if (place) std::memcpy(array.view().data, place, static_cast<size_t>(bytes));
  else in.read(array.view().data, bytes, "an array");
  return device.is_host() ? array : copy_to(array, device);
}

struct IndexPart {
  DType dtype;
  Shape shape;
};

void read_indices(ByteSource& in, const IndexPart& part, int64_t* destination, int64_t limit,
                  const char* what) {
  const int64_t count = part.shape.size();
  if (part.dtype == DType::int64) {
    in.read(destination, count * 8, what);
  } else {
    std::vector<std::byte> raw(static_cast<size_t>(count * size_of(part.dtype)));
    in.read(raw.data(), static_cast<int64_t>(raw.size()), what);
    convert_elements(raw.data(), part.dtype, destination, DType::int64, count);
  }
  for (int64_t i = 0; i < count; ++i) {
    if (destination[i] < 0 || destination[i] >= limit) {
      in.fail("{}: {} at position {} is out of range; expected 0 to {}", what, destination[i], i, limit - 1);
    }
  }
}

void check_increasing(const ByteSource& in, const int64_t* first, const int64_t* last, const char* what) {
  const int64_t* const bad = std::adjacent_find(first, last, [](int64_t a, int64_t b) { return a >= b; });
  if (bad != last) in.fail("{}: {} follows {}; they must increase", what, bad[1], bad[0]);
}

NDArray read_sparse(ByteSource& in, engine::Engine& engine, StorageType stype, Shape stored,
                    const Shape& shape, DType dtype) {
  const bool csr = stype == StorageType::csr;
  InlineVector<IndexPart, 2> parts(csr ? 2 : 1);
  for (IndexPart& part : parts) {
    part.dtype = read_dtype(in);
    part.shape = read_shape(in);
    if (is_floating(part.dtype) || part.shape.ndim() != 1)
      in.fail("an index array is not a list of integers");
  }
  // MXNet writes 0 rows, and the rows after it, when it saves an array whose value was still being computed.
  if (!csr && stored.ndim() > 0 && stored[0] == 0) stored[0] = parts[0].shape[0];
  bool fits = stored.is_known() && shape.is_known();
  if (fits && csr) {
    fits = shape.ndim() == 2 && stored.ndim() == 1 && parts[0].shape[0] == shape[0] + 1 &&
           parts[1].shape[0] == stored[0];
  } else if (fits) {
    fits = shape.ndim() >= 1 && stored.ndim() == shape.ndim() && parts[0].shape[0] == stored[0] &&
           stored[0] <= shape[0] && std::equal(shape.begin() + 1, shape.end(), stored.begin() + 1);
  }
  if (!fits) {
    in.fail("the parts of a {} array of shape {} do not fit together (stored shape {})", name_of(stype),
            shape.to_string(), stored.to_string());
  }
  const int64_t count = checked_count(in, stored, size_of(dtype), "a sparse array");
  for (const IndexPart& part : parts) checked_count(in, part.shape, size_of(part.dtype), "an index array");

  auto storage = make_ref<Storage>(engine, stype, Device::cpu());
  const int64_t items = stored[0] > 0 ? count / stored[0] : 0;
  storage->resize_sparse(stored[0], items * size_of(dtype), csr ? shape[0] + 1 : 0);
  in.read(storage->data(), count * size_of(dtype), "a sparse array");
  if (csr) {
    read_indices(in, parts[0], storage->indptr(), stored[0] + 1, "row starts");
    read_indices(in, parts[1], storage->indices(), shape[1], "columns");
    const int64_t* const starts = storage->indptr();
    if (starts[0] != 0 || starts[shape[0]] != stored[0] || !std::is_sorted(starts, starts + shape[0] + 1)) {
      in.fail("row starts do not increase from 0 to {}", stored[0]);
    }
  } else {
    read_indices(in, parts[0], storage->indices(), shape[0], "row ids");
    check_increasing(in, storage->indices(), storage->indices() + stored[0], "row ids");
  }
  return NDArray(std::move(storage), shape, dtype);
}

NDArray read_legacy(ByteSource& in, engine::Engine& engine, const Shape& shape, LoadOptions options) {
  const Device device = read_device(in, engine);
  const DType dtype = read_dtype(in);
  return read_dense(in, engine, shape, device, dtype, options);
}

NDArray read_record(ByteSource& in, engine::Engine& engine, LoadOptions options) {
  const uint32_t magic = in.number<uint32_t>("an array");
  if (magic == kMagicV1) {
    const Shape shape = read_shape(in);
    if (!shape.is_known()) in.fail("an array has an impossible shape");
    return shape.ndim() == 0 ? NDArray() : read_legacy(in, engine, shape, options);
  }
  if (magic != kMagicV2 && magic != kMagicV3)
    return read_legacy(in, engine, read_sizes<uint32_t>(in, magic), options);
  const bool numpy = magic == kMagicV3;
  if (numpy && !options.numpy_shapes) {
    in.fail("the array was saved with NumPy shape rules (version 3); turn np_shape on to load it");
  }
  const int32_t stype_code = in.number<int32_t>("the storage type");
  if (stype_code < 0 || stype_code > 2) in.fail("{} is no storage type", stype_code);
  const auto stype = static_cast<StorageType>(stype_code);
  if (numpy && stype != StorageType::dense) in.fail("version 3 holds dense arrays only");
  Shape stored;
  if (stype != StorageType::dense) stored = read_shape(in);
  const Shape shape = read_shape(in);
  if (numpy ? !shape.is_known() : shape.ndim() == 0) return NDArray();
  if (!shape.is_known()) in.fail("an array has an impossible shape");
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();  // sizes may be absurd
  if (!numpy && options.numpy_shapes && stype == StorageType::dense && is_empty) {
    in.fail("the array of shape {} was saved without NumPy shape rules; turn np_shape off to load it",
            shape.to_string());
  }
  const Device device = read_device(in, engine);
  const DType dtype = read_dtype(in);
  if (stype == StorageType::dense) return read_dense(in, engine, shape, device, dtype, options);
  return read_sparse(in, engine, stype, stored, shape, dtype);
}

ArrayList read_list(ByteSource in, engine::Engine& engine, LoadOptions options) {
  ArrayList list;
  const uint64_t magic = in.number<uint64_t>("the header");
  if (magic != kListMagic)
    in.fail("this is no array file: it begins with {:#x}, expected {:#x}", magic, kListMagic);
  in.number<uint64_t>("the header");
  const auto count = static_cast<int64_t>(in.number<uint64_t>("the header"));
  constexpr int64_t kSmallestRecord = 8;  // an empty array of version 1
  in.require(count, kSmallestRecord, "the list of arrays");
  for (int64_t i = 0; i < count; ++i) {
    try {
      list.arrays.push_back(read_record(in, engine, options));
    } catch (Error& error) {
      error.add_context(fmt::format("in array {} of {}", i, count));
      throw;
    }
  }
  const auto names = static_cast<int64_t>(in.number<uint64_t>("the number of names"));
  if (names != 0 && names != count) in.fail("{} names for {} arrays", names, count);
  for (int64_t i = 0; i < names; ++i) {
    const auto length = static_cast<int64_t>(in.number<uint64_t>("a name"));
    in.require(length, 1, "a name");
    std::string name(static_cast<size_t>(length), '\0');
    in.read(name.data(), length, "a name");
    list.names.push_back(std::move(name));
  }
  return list;
}

class Writer {
 public:
  template <class T>
  void number(T value) {
    bytes(&value, sizeof(T));
  }
  void bytes(const void* data, int64_t count) {
    if (count > 0) text_.append(static_cast<const char*>(data), static_cast<size_t>(count));
  }
  void shape(const Shape& shape) {
    number<int32_t>(shape.ndim());
    for (int64_t dim : shape) number<int64_t>(dim);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write_place(Writer& out, const NDArray& array) {
  out.number(static_cast<int32_t>(array.device().type));
  out.number(static_cast<int32_t>(array.device().id));
  out.number(static_cast<int32_t>(array.dtype()));
}

void write_dense(Writer& out, const NDArray& array) {
  const NDArray host = array.device().is_host() ? array : copy_to(array, Device::cpu());
  host.wait_to_read();
  out.bytes(host.view().data, host.bytes());
}

void write_sparse(Writer& out, const NDArray& array) {
  const Storage& storage = array.storage();
  const bool csr = array.stype() == StorageType::csr;
  const TensorView values = array.view();
  out.number(kMagicV2);
  out.number(static_cast<int32_t>(array.stype()));
  out.shape(values.shape);
  out.shape(array.shape());
  write_place(out, array);
  const int64_t starts = csr ? array.shape()[0] + 1 : 0;
  if (csr) {
    out.number(static_cast<int32_t>(DType::int64));
    out.shape(Shape{starts});
  }
  out.number(static_cast<int32_t>(DType::int64));
  out.shape(Shape{storage.count()});
  out.bytes(values.data, values.bytes());
  out.bytes(storage.indptr(), starts * 8);
  out.bytes(storage.indices(), storage.count() * 8);
}

void write_none(Writer& out, ArrayFormat format) {
  LOOMIX_CHECK(format != ArrayFormat::v0, ValueError,
               "[save] format version 0 cannot hold an empty (none) array.");
  if (format == ArrayFormat::v1) {
    out.number(kMagicV1);
    return out.number<int32_t>(0);
  }
  out.number(format == ArrayFormat::v3 ? kMagicV3 : kMagicV2);
  out.number<int32_t>(0);
  out.number<int32_t>(format == ArrayFormat::v3 ? -1 : 0);
}

void write_record(Writer& out, const NDArray& array, ArrayFormat format) {
  if (array.is_none()) return write_none(out, format);
  array.wait_to_read();
  if (!array.is_dense()) {
    LOOMIX_CHECK(format == ArrayFormat::v2, ValueError, "[save] a {} array fits into format version 2 only.",
                 name_of(array.stype()));
    return write_sparse(out, array);
  }
  const Shape& shape = array.shape();
  LOOMIX_CHECK(shape.ndim() > 0 || format == ArrayFormat::v3 || format == ArrayFormat::v0, ValueError,
               "[save] an array of shape () can only be saved with np_shape on (format version 3).");
  switch (format) {
    case ArrayFormat::v0:
      out.number<uint32_t>(static_cast<uint32_t>(shape.ndim()));
      for (int64_t dim : shape) {
        LOOMIX_CHECK(dim <= UINT32_MAX, ValueError, "[save] the size {} does not fit into format version 0.",
                     dim);
        out.number(static_cast<uint32_t>(dim));
      }
      break;
    case ArrayFormat::v1:
      out.number(kMagicV1);
      out.shape(shape);
      break;
    case ArrayFormat::v2:
    case ArrayFormat::v3:
      out.number(format == ArrayFormat::v3 ? kMagicV3 : kMagicV2);
      out.number<int32_t>(0);
      out.shape(shape);
      break;
  }
  write_place(out, array);
  write_dense(out, array);
}

}  // namespace

ArrayList load_arrays(engine::Engine& engine, const std::string& path, LoadOptions options) {
  return read_list(ByteSource::file(path), engine, options);
}

ArrayList load_arrays_from_buffer(engine::Engine& engine, std::span<const std::byte> bytes,
                                  LoadOptions options, const std::string& name) {
  return read_list(ByteSource::memory(bytes, name), engine, options);
}

std::string save_arrays_to_buffer(std::span<const NDArray> arrays, std::span<const std::string> names,
                                  ArrayFormat format) {
  LOOMIX_CHECK(names.empty() || names.size() == arrays.size(), ValueError,
               "[save] {} names were given for {} arrays.", names.size(), arrays.size());
  Writer out;
  out.number(kListMagic);
  out.number<uint64_t>(0);
  out.number<uint64_t>(arrays.size());
  for (const NDArray& array : arrays) write_record(out, array, format);
  out.number<uint64_t>(names.size());
  for (const std::string& name : names) {
    out.number<uint64_t>(name.size());
    out.bytes(name.data(), static_cast<int64_t>(name.size()));
  }
  return out.take();
}

void save_arrays(const std::string& path, std::span<const NDArray> arrays, std::span<const std::string> names,
                 ArrayFormat format) {
  write_file_whole(path, save_arrays_to_buffer(arrays, names, format));
}

NDArray load_array_record(engine::Engine& engine, std::span<const std::byte> bytes, LoadOptions options) {
  ByteSource in = ByteSource::memory(bytes, "array record");
  return read_record(in, engine, options);
}

std::string save_array_record(const NDArray& array, ArrayFormat format) {
  Writer out;
  write_record(out, array, format);
  return out.take();
}

}  // namespace loomix
